"""Loads what a worker's task hosts load, into the process that workers of tests are forked from.

Tests start hundreds of workers. A worker's first fork server is forked from the worker, and so it has loaded what the
worker has (`connect.cluster.hosts.fork_seed`). If that server ends, the worker starts the next as every worker does.
"""

from __future__ import annotations

import importlib
from typing import Final

from connect.cluster.hosts import fork_server

_LIBRARIES: Final = (
    "sqlalchemy", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
    "psycopg", "pymysql", "google.cloud.bigquery", "pyarrow.fs", "pyarrow.parquet",
)  # fmt: skip
"""Our connectors load these libraries in each host. The connectors themselves are loaded in the hosts, as
everywhere.
"""


def load() -> None:
    """Load the modules that all hosts need, and the libraries of most connectors."""
    fork_server.set_up_libraries()
    fork_server.load_shared()
    for library in _LIBRARIES:
        importlib.import_module(library)
