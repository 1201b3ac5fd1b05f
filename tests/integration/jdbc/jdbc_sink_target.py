"""Makes tasks of the JDBC sink for a table of a real server, and their batches; a separate client reads the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from jdbc_server import JDBC, Server

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.arrow import arrow_type
from connect.api.connector import SinkContext
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector, JdbcSinkTask

KEY = s.struct({"id": s.INT64})
ROW = s.struct({"id": s.INT64, "v": s.INT64.as_optional()}, optional=True)
Pair = tuple[int, int | None]


def settings_of(server: Server, **settings: str) -> dict[str, str]:
    """Return a configuration. `settings` has keys with `__` for each dot."""
    e = server.endpoint
    given = {
        "connection.url": f"jdbc:{JDBC[server.name]}://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password,
    }  # fmt: skip
    return {**given, **EVERYWHERE, **{name.replace("__", "."): value for name, value in settings.items()}}


def made(server: Server, ctx: SinkContext | None = None, **settings: str) -> JdbcSinkTask:
    """Return an open task."""
    given = settings_of(server, **settings)
    task = JdbcSinkConnector(JdbcSinkConfig.parse(given)).task(given)
    task.open(ctx or FakeSinkContext())
    task.assigned([TopicPartition(server.table, 0)])
    return task


@contextmanager
def opened(server: Server, ctx: SinkContext | None = None, **settings: str) -> Iterator[JdbcSinkTask]:
    """Yield an open task; it is closed in the end."""
    task = made(server, ctx, **settings)
    try:
        yield task
    finally:
        task.close()


def batch(server: Server, pairs: Sequence[Pair | int], first: int = 0) -> Batch:
    """Return records of an id and a value each, from an offset on; an id alone is a tombstone."""
    values = [None if isinstance(pair, int) else {"id": pair[0], "v": pair[1]} for pair in pairs]
    keys = [{"id": pair if isinstance(pair, int) else pair[0]} for pair in pairs]
    offsets = pa.array(range(first, first + len(pairs)), pa.int64())
    place = TopicPartition(server.table, 0)
    return Batch(
        server.table, Column.from_arrow(pa.array(values, arrow_type(ROW)), ROW),
        Column.from_arrow(pa.array(keys, arrow_type(KEY)), KEY), partition=0,
        consumed=Consumed(place, offsets, first + len(pairs)),
    )  # fmt: skip


def put(task: JdbcSinkTask, given: Batch) -> dict[int, str]:
    """Put a batch, and return the rows that the task rejects, with the reasons."""
    try:
        task.put(given, Deadline.after(60))
    except RejectedRowsError as error:
        return {row: str(why) for row, why in error.rows.items()}
    return {}


def rows(server: Server, columns: str = "id, v") -> list[tuple[Any, ...]]:
    """Return the table's rows, in order."""
    with server.engine.connect() as connection:
        return sorted(tuple(row) for row in connection.exec_driver_sql(f"SELECT {columns} FROM {server.table}"))
