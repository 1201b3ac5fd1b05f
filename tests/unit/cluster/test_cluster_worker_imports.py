"""What a worker process loads: it starts in a second, and holds no data."""

import subprocess
import sys

LOADED = """
import sys
import connect.app, connect.rest.server
from connect.plugins import Catalog
Catalog.installed()
print(*sorted({"pyarrow", "polars", "duckdb", "numpy", "pandas", "sqlalchemy", "obstore"} & sys.modules.keys()))
"""


def test_a_worker_loads_nothing_that_only_task_hosts_need():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
