"""What a worker process loads: it starts in a second, and holds no data."""

import subprocess
import sys

import pytest

from connect.cluster.fork_server import BASE

LOADED = """
import importlib, sys
from connect.plugins import Catalog
for name in sys.argv[1:]:
    importlib.import_module(name)
Catalog.installed()
print(*sorted({"pyarrow", "polars", "duckdb", "numpy", "pandas", "sqlalchemy", "obstore"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("modules", [("connect.app", "connect.rest.server"), (BASE,)], ids=["worker", "fork server"])
def test_a_worker_without_work_loads_nothing_that_only_busy_task_hosts_need(modules):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *modules], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
