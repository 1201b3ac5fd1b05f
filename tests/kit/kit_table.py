"""Holds a correct source over a SQLite table, and its driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

from connect.api import schema as s
from connect.api.config import ConnectorConfig, Int, Password, String, at_least, key
from connect.api.connector import SourceContext
from connect.api.errors import RetriableError, SchemaError
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.api.records import Batch, Column, Record, SourcePosition
from connect.lib.deadline import Deadline
from connect.lib.key_role import KeyRole
from connect.testing.drivers import ROW_SCHEMA, Row

PARTITION = {"table": "rows", "parts": 1}
KEY = s.struct({"id": s.INT64})
START = {"tie": -1, "id": -1}


class TableConfig(ConnectorConfig):
    database: String = key("database", doc="The file of the SQLite database.", importance="high")
    password: Password | None = key("database.password", None, doc="A secret that SQLite does not use.")
    batch_max_rows: Annotated[Int, at_least(1)] = key(
        "batch.max.rows", 7, doc="Rows per batch.", role=KeyRole.PAGE_ROWS
    )
    parts: Annotated[Int, at_least(1)] = key("parts", 1, doc="The parts whose places are stored apart.")


@contextmanager
def reached(path: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection. RetriableError: the database is away. Writes do not wait for the disk, as no test cuts the
    power.
    """
    try:
        connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise RetriableError("The database cannot be reached.", key="database") from error
    try:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection
    finally:
        connection.close()


class TableSource:
    """Connects for each query, so that a database that comes back is used again."""

    def __init__(self, config: TableConfig) -> None:
        self.config = config
        self.place: Mapping[str, Any] = START
        self.ctx: SourceContext

    @property
    def partition(self) -> Mapping[str, object]:
        return {**PARTITION, "parts": self.config.parts}

    def open(self, ctx: SourceContext) -> None:
        self.ctx = ctx
        with reached(self.config.database) as connection:
            connection.execute("INSERT OR IGNORE INTO readers VALUES ('kit')")
        self.place = ctx.stored_offset(self.partition) or START

    def poll(self, deadline: Deadline) -> Batch | None:
        while not (rows := self.query()):
            if not self.wait(deadline):
                return None
        rows = self.of_one_topic(rows)
        self.place = {"tie": rows[-1]["tie"], "id": rows[-1]["id"]}
        return self.batch(self.readable(rows))

    def of_one_topic(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows before the first row of another topic."""
        return list(takewhile(lambda row: row["topic"] == rows[0]["topic"], rows))

    def readable(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the rows that a record can hold. The others are given up as they are."""
        bad = [row for row in rows if isinstance(row["text"], bytes)]
        if bad:
            reasons = {i: SchemaError("It is no UTF-8.", field="text") for i in range(len(bad))}
            values = Column.from_rows([row["text"] for row in bad], s.BYTES)
            self.ctx.reject(Batch("rows", values, position=SourcePosition(self.partition, dict(self.place))), reasons)
        return [row for row in rows if row not in bad]

    def wait(self, deadline: Deadline) -> bool:
        return deadline.wait(0.02)

    def query(self) -> list[dict[str, Any]]:
        sql = "SELECT * FROM rows WHERE (tie, id) > (:tie, :id) ORDER BY tie, id LIMIT :most"
        return self.select(sql, {**self.place, "most": self.config.batch_max_rows})

    def select(self, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with reached(self.config.database) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, values)]

    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        values = [None if row["deleted"] else self.value(row) for row in rows]
        return Batch(
            rows[0]["topic"] if rows else "rows",
            values=Column.from_rows(values, ROW_SCHEMA.as_optional()),
            keys=Column.from_rows([{"id": row["id"]} for row in rows], KEY),
            position=SourcePosition(self.partition, dict(self.place)),
        )

    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in ("id", "tie", "text", "whole", "number")}

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        pass

    def close(self) -> None:
        pass


class TableConnector:
    task_class = TableSource

    def __init__(self, config: TableConfig) -> None:
        self.config = config
        self.stored: Sequence[SourcePosition] = ()

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        self.stored = stored

    def check(self, deadline: Deadline) -> None:
        with reached(self.config.database):
            pass

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        parts = self.stored[0].partition["parts"] if self.stored else self.config.parts
        return [{**self.config.originals, "parts": str(parts)}]

    def clean_up(self, deadline: Deadline) -> str | None:
        with reached(self.config.database) as connection:
            connection.execute("DELETE FROM readers WHERE name = 'kit'")
        return None

    def task(self, config: Mapping[str, str]) -> TableSource:
        return self.task_class(TableConfig.parse(dict(config)))


class TableDriver:
    """Reads and changes the same file by sqlite3 alone."""

    in_order = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rows.db"
        self.away = folder / "rows.away"

    def config(self) -> Mapping[str, str]:
        return {"database": str(self.path), "database.password": "unused", "batch.max.rows": "7"}

    def reset(self) -> None:
        for path in (self.path, self.away):
            path.unlink(missing_ok=True)
        columns = "id INTEGER PRIMARY KEY, tie INTEGER, text TEXT, whole INTEGER, number REAL"
        own = "deleted INTEGER DEFAULT 0, pruned INTEGER DEFAULT 0, topic TEXT DEFAULT 'rows'"
        self._run(f"CREATE TABLE rows ({columns}, {own})", [{}])
        self._run("CREATE TABLE readers (name TEXT PRIMARY KEY)", [{}])

    def insert(self, rows: Sequence[Row]) -> None:
        self._run("INSERT INTO rows (id, tie, text, whole, number) VALUES (:id, :tie, :text, :whole, :number)", rows)

    def topics_config(self) -> Mapping[str, str]:
        return self.config()

    def insert_other(self, rows: Sequence[Row]) -> None:
        self.insert(rows)
        self._run("UPDATE rows SET topic = 'more-rows' WHERE id = :id", rows)

    def add_column(self) -> None:
        self._run("ALTER TABLE rows ADD COLUMN added TEXT DEFAULT 'added'", [{}])

    def drop_column(self) -> None:
        self._run("ALTER TABLE rows DROP COLUMN added", [{}])

    def insert_unreadable(self, row: Row) -> None:
        self.insert([{**row, "text": b"\xff"}])

    def update(self, rows: Sequence[Row]) -> None:
        self._run("UPDATE rows SET tie = :tie, text = :text, pruned = 0 WHERE id = :id", rows)

    def delete(self, ids: Sequence[int]) -> None:
        self._run("UPDATE rows SET deleted = 1, tie = tie + 1000, pruned = 0 WHERE id = :id", [{"id": i} for i in ids])

    def split_config(self) -> Mapping[str, str]:
        return {**self.config(), "parts": "2"}

    def cleanup_config(self) -> Mapping[str, str]:
        return self.config()

    def left_behind(self) -> Sequence[str]:
        return [str(row["name"]) for row in self._select("SELECT name FROM readers")]

    def expected(self) -> Sequence[Row]:
        columns = "id, tie, text, whole, number"
        return self._select(f"SELECT {columns} FROM rows WHERE NOT deleted AND typeof(text) <> 'blob'")

    def _select(self, sql: str) -> Sequence[Row]:
        connection = sqlite3.connect(self.path)
        try:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql)]
        finally:
            connection.close()

    def row_of(self, record: Record) -> Row:
        return dict(record.value if record.value is not None else record.key)

    def break_connection(self) -> None:
        self.path.rename(self.away)

    def heal(self) -> None:
        self.away.rename(self.path)

    def _run(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        connection = sqlite3.connect(self.path)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            with connection:
                connection.executemany(sql, values)
        finally:
            connection.close()


def source(connector: type[TableConnector], config: type[TableConfig] = TableConfig) -> Plugin:
    """Return the plug-in of a connector class of this module."""
    return Plugin(
        PluginKind.SOURCE,
        name=f"kit.{connector.__name__}",
        factory=f"{connector.__module__}:{connector.__name__}",
        config=config,
        version="1",
        capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES, Capability.CLEANUP}),
    )
