"""The JDBC sink keeps the contract of sinks, on SQLite, PostgreSQL and MariaDB; raw clients read the tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from jdbc_drivers import started
from jdbc_servers import MariaDb, Postgres

from connect.testing.drivers import Row
from connect.testing.sink import SinkSuite
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connectors.jdbc.plugin import SINK

UPSERT = {
    "insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.create": "true",
    "auto.evolve": "true",
}  # fmt: skip
NO_NEGATIVE_ZERO = dict.fromkeys(
    (
        "test_every_row_is_readable_after_flush_value_by_value", "test_a_changed_schema_loses_no_row",
        "test_rows_of_several_topics_land", "test_rows_of_any_key_land_or_are_refused[schemaless-map]",
    ),
    "the database stores -0.0 as 0.0",
)  # fmt: skip


class SqliteDriver:
    """A file, which SQLite's own client reads."""

    topic = "orders"
    rows_per_claim = 1
    other_topics = ("returns",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def config(self) -> Mapping[str, str]:
        return {"connection.url": f"jdbc:sqlite:{self.path}", **UPSERT}

    def reset(self) -> None:
        self.path.unlink(missing_ok=True)

    def read_back(self) -> Sequence[Row]:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return [dict(row) for table in tables for row in connection.execute(f'SELECT * FROM "{table}"')]

    def bad_row(self, row: Row) -> Row:
        return {**row, "number": float("nan")}


class TestSqlite(SinkSuite):
    plugin = SINK
    waivers = NO_NEGATIVE_ZERO

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SqliteDriver:
        return SqliteDriver(tmp_path / "target.db")


class ServerDriver:
    """A database of a server, reached through a relay that can be cut."""

    topic = "orders"
    rows_per_claim = 1
    other_topics = ("returns",)

    def __init__(self, server: Postgres | MariaDb) -> None:
        self.server = server

    def config(self) -> Mapping[str, str]:
        e = self.server.endpoint
        return {
            "connection.url": f"jdbc:{self.server.scheme}://{e.host}:{self.server.relay.port}/{e.database}",
            "connection.user": e.user,
            "connection.password": e.password,
            **UPSERT,
        }

    def reset(self) -> None:
        self.server.end_sessions()
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            for table in (self.topic, *self.other_topics):
                cursor.execute(f"DROP TABLE IF EXISTS {table}")
            connection.commit()

    def end_sessions(self) -> None:
        self.server.end_sessions()

    def break_connection(self) -> None:
        self.server.relay.cut()

    def heal(self) -> None:
        self.server.relay.start()

    def read_back(self) -> Sequence[Row]:
        with closing(self.server.connect()) as connection:
            return [row for table in (self.topic, *self.other_topics) for row in self.rows(connection, table)]

    def rows(self, connection: Any, table: str) -> Sequence[Row]:
        raise NotImplementedError


class PostgresDriver(ServerDriver):
    """Rows come in PostgreSQL's binary form, which has every digit of a number."""

    cannot_hold: Mapping[str, str] = {"string": "a text of PostgreSQL has no NUL"}

    def rows(self, connection: Any, table: str) -> Sequence[Row]:
        with connection.cursor(binary=True, row_factory=psycopg.rows.dict_row) as cursor:
            cursor.execute("SELECT 1 FROM pg_class WHERE relname = %s", [table])
            if not cursor.fetchall():
                return []
            cursor.execute(f"SELECT * FROM {table}")
            return [{name: _connect_form(value) for name, value in row.items()} for row in cursor.fetchall()]

    read_types = ServerDriver.read_back

    def bad_row(self, row: Row) -> Row:
        return {**row, "text": "a \x00 in it"}


def _connect_form(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    for endpoint, relay in started(PostgresService()):
        yield Postgres(endpoint, relay)


@pytest.mark.integration
class TestPostgres(SinkSuite):
    plugin = SINK

    @pytest.fixture
    def driver(self, postgres: Postgres) -> PostgresDriver:
        return PostgresDriver(postgres)


class MariaDbDriver(ServerDriver):
    """Rows come as texts, floats of 32 bits by way of 64."""

    def rows(self, connection: Any, table: str) -> Sequence[Row]:
        with connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute("SHOW TABLES LIKE %s", [table])
            if not cursor.fetchall():
                return []
            cursor.execute(f"SELECT * FROM {table}")
            return list(cursor.fetchall())

    def bad_row(self, row: Row) -> Row:
        return {**row, "number": float("inf")}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    for endpoint, relay in started(MariaDbService()):
        yield MariaDb(endpoint, relay)


@pytest.mark.integration
class TestMariaDb(SinkSuite):
    plugin = SINK
    waivers = NO_NEGATIVE_ZERO

    @pytest.fixture
    def driver(self, mariadb: MariaDb) -> MariaDbDriver:
        return MariaDbDriver(mariadb)
