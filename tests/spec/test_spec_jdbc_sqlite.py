"""The JDBC source keeps the contract of sources, on SQLite; the table is filled and read by sqlite3 alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from keyed_source import KeyedSourceSuite

from connect.api.records import Record
from connect.testing.drivers import Row
from connectors.jdbc.plugin import SOURCE

COLUMNS = "id INTEGER PRIMARY KEY, tie BIGINT NOT NULL, text TEXT, whole BIGINT, number DOUBLE"
WAIVERS = {
    "test_defaults_validate": "Confluent's default of mode is the empty text, refused so that a mode is chosen",
}
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class SqliteDriver:
    """A table read by an incrementing column."""

    in_order = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "source.db"

    def config(self) -> Mapping[str, str]:
        return {
            "connection.url": f"jdbc:sqlite:{self.path}",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "rows",
            "topic.prefix": "db-",
            "batch.max.rows": "7",
            "poll.interval.ms": "50",
            "poll.linger.ms": "20",
        }

    def reset(self) -> None:
        self.path.unlink(missing_ok=True)
        for table in ("rows", "more"):
            self._run(f"CREATE TABLE {table} ({COLUMNS}, changed TIMESTAMP NOT NULL)", [{}])

    def insert(self, rows: Sequence[Row]) -> None:
        self._insert("rows", rows)

    def topics_config(self) -> Mapping[str, str]:
        return {**self.config(), "table.whitelist": "rows,more"}

    def insert_other(self, rows: Sequence[Row]) -> None:
        self._insert("more", rows)

    def add_column(self) -> None:
        self._run("ALTER TABLE rows ADD COLUMN added TEXT DEFAULT 'added'", [{}])

    def drop_column(self) -> None:
        self._run("ALTER TABLE rows DROP COLUMN added", [{}])

    def expected(self) -> Sequence[Row]:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT id, tie, text, whole, number FROM rows")]

    def row_of(self, record: Record) -> Row:
        return {name: value for name, value in record.value.items() if name not in {"changed", "added"}}

    def _insert(self, table: str, rows: Sequence[Row]) -> None:
        columns = "id, tie, text, whole, number, changed"
        sql = f"INSERT INTO {table} ({columns}) VALUES (:id, :tie, :text, :whole, :number, :changed)"
        self._run(sql, [self._timed(row) for row in rows])

    def _timed(self, row: Row) -> Row:
        changed = LONG_AGO + timedelta(seconds=row["tie"])
        return {**row, "changed": changed.strftime("%Y-%m-%d %H:%M:%S.000")}

    def _run(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany(sql, values)


class LockedSqliteDriver(SqliteDriver):
    """Away means that another connection holds the whole database."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lock: sqlite3.Connection | None = None

    def config(self) -> Mapping[str, str]:
        return {**super().config(), "connection.url": f"jdbc:sqlite:{self.path}?busy_timeout=100"}

    def break_connection(self) -> None:
        self.lock = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.lock.execute("BEGIN EXCLUSIVE")

    def heal(self) -> None:
        assert self.lock is not None
        self.lock.close()


class TimestampedSqliteDriver(SqliteDriver):
    """The same table read by the time of the last change, then by id."""

    def config(self) -> Mapping[str, str]:
        return {**super().config(), "mode": "timestamp+incrementing", "timestamp.column.name": "changed"}

    def update(self, rows: Sequence[Row]) -> None:
        sql = "UPDATE rows SET tie = :tie, text = :text, changed = :changed WHERE id = :id"
        self._run(sql, [self._timed(row) for row in rows])


class TestJdbcIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SqliteDriver:
        return LockedSqliteDriver(tmp_path)


class TestJdbcTimestampIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SqliteDriver:
        return TimestampedSqliteDriver(tmp_path)
