"""Provides the databases of the JDBC tests: SQL servers, started once for each process of a run, and a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from jdbc_drive import run_sql
from jdbc_server import DRIVERS, Server
from jdbc_sqlite import insert
from sql_services import installed

from connect.tools.services.mysql import MySqlService
from connect.tools.services.sql import SqlEndpoint


@pytest.fixture(scope="session")
def mysql() -> Iterator[SqlEndpoint]:
    """Yield a MySQL, for which few systems have a package: see `connect.tools.services.mysql`."""
    with installed(MySqlService()) as service:
        yield service.endpoint


@contextmanager
def connected(name: str, endpoint: SqlEndpoint, table: str) -> Iterator[Server]:
    url = sa.URL.create(
        DRIVERS[name], endpoint.user, endpoint.password, endpoint.host, endpoint.port, endpoint.database
    )
    # By default PyMySQL loads every authority that the system trusts at each connection.
    engine = sa.create_engine(url, connect_args={"ssl_disabled": True} if name == "mariadb" else {})
    yield Server(name, endpoint, engine, table)
    engine.dispose()


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest, unique: str) -> Iterator[Server]:
    with connected(request.param, request.getfixturevalue(request.param), unique) as found:
        yield found


@pytest.fixture
def servers(postgres: SqlEndpoint, mariadb: SqlEndpoint, unique: str) -> Iterator[dict[str, Server]]:
    """Return both servers by name."""
    with connected("postgres", postgres, unique) as one, connected("mariadb", mariadb, unique) as other:
        yield {one.name: one, other.name: other}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a SQLite file whose table `t` has 60 rows, six for each timestamp."""
    path = tmp_path / "a b%20.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL, name TEXT)")
    insert(path, *((i, f"2024-01-01 00:00:{(i - 1) // 6:02d}") for i in range(1, 61)))
    return path
