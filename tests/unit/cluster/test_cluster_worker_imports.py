"""Checks what a worker process loads: it starts in a second, and holds no data."""

import subprocess
import sys

import pytest

LOADED = """
import importlib, sys
from connect.plugins.catalog import Catalog
for name in sys.argv[1:]:
    importlib.import_module(name)
Catalog.installed()
heavy = {"pyarrow", "polars", "duckdb", "numpy", "pandas", "sqlalchemy", "obstore", "cryptography"}
print(*sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.thorough
def test_a_worker_loads_nothing_that_only_task_hosts_need():
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "connect.worker.app", "connect.rest.rest_server"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == []
