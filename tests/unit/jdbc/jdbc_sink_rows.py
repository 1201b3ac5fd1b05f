"""Batches for the JDBC sink, and a table in SQLite as its own client sees it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.connector import SinkTask
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector

TOPIC = "orders"
ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional()}, optional=True)
KEY = s.struct({"id": s.INT64})


def batch(
    rows: Sequence[Any], *, first: int = 0, keys: Sequence[Any] | None = None, schema: s.Schema | None = ROW,
    key_schema: s.Schema | None = KEY,
) -> Batch:  # fmt: skip
    """Rows from an offset on; keys: None for those of the rows' ids."""
    found = [{"id": row["id"]} for row in rows] if keys is None else keys
    return Batch(
        TOPIC,
        Column.from_rows(rows, schema),
        Column.from_rows(found, key_schema),
        partition=0,
        consumed=Consumed(
            TopicPartition(TOPIC, 0), pa.array(range(first, first + len(rows)), pa.int64()), first + len(rows)
        ),
    )


def put(task: SinkTask, given: Batch) -> dict[int, str]:
    """The rows that the task rejects, with the reasons."""
    try:
        task.put(given, Deadline.after(60))
    except RejectedRowsError as error:
        return {row: str(why) for row, why in error.rows.items()}
    return {}


@contextmanager
def opened(config: Mapping[str, str]) -> Iterator[SinkTask]:
    """A task of this configuration."""
    connector = JdbcSinkConnector(JdbcSinkConfig.parse({**config, **EVERYWHERE}))
    (given,) = connector.task_configs(1)
    task = connector.task({**given, **EVERYWHERE})
    task.open(FakeSinkContext())
    try:
        yield task
    finally:
        task.close()


class SqliteTable:
    """A file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "target.db"

    def config(self, **settings: str) -> dict[str, str]:
        """settings: keys with `__` for each dot."""
        given = {name.replace("__", "."): value for name, value in settings.items()}
        return {"connection.url": f"jdbc:sqlite:{self.path}", **EVERYWHERE, **given}

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement).fetchall()

    def rows(self, columns: str = "id, name") -> list[tuple[Any, ...]]:
        return self.run(f"SELECT {columns} FROM {TOPIC} ORDER BY 1")
