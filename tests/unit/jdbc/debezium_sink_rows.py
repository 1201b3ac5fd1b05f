"""Change events for Debezium's JDBC sink, and a table in SQLite as its own client sees it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.connector import DebeziumSinkConnector, DebeziumSinkTask

TOPIC = "shop.public.Orders"
KEY = s.struct({"Id": s.INT64}, name="shop.public.Orders.Key")
ROW = s.struct({"Id": s.INT64, "Name": s.STRING.as_optional()}, name="shop.public.Orders.Value", optional=True)
SOURCE = s.struct({"schema": s.STRING, "table": s.STRING.as_optional()}, name="io.debezium.Source")
EVENT = replace(
    s.struct({"before": ROW, "after": ROW, "source": SOURCE, "op": s.STRING}, name="shop.public.Orders.Envelope"),
    optional=True,
)
SETTINGS = {"insert.mode": "upsert", "primary.key.mode": "record_key", "schema.evolution": "basic"}


def row(number: int, name: str | None = None) -> dict[str, Any]:
    return {"Id": number, "Name": name}


def event(op: str, number: int | None, name: str | None = None, table: str | None = "orders") -> dict[str, Any]:
    """An event of a row; without a number it is that of a truncation."""
    own = None if number is None else row(number, name)
    before, after = (own, None) if op == "d" else (None, own)
    return {"before": before, "after": after, "source": {"schema": "public", "table": table}, "op": op}


def batch(
    values: Sequence[Any], schema: s.Schema | None = EVENT, *, keys: Sequence[Any] | None = None, first: int = 0,
    topic: str = TOPIC,
) -> Batch:  # fmt: skip
    """Records from an offset on; `keys` are the ids of their rows, and None those of the events."""
    found = [_id_of(value) for value in values] if keys is None else keys
    offsets = pa.array(range(first, first + len(values)), pa.int64())
    return Batch(
        topic, Column.from_rows(values, schema),
        Column.from_rows([None if key is None else {"Id": key} for key in found], KEY), partition=0,
        consumed=Consumed(TopicPartition(topic, 0), offsets, first + len(values)),
    )  # fmt: skip


def _id_of(value: Any) -> int | None:
    own = None if value is None else value.get("after") or value.get("before") or (value if "Id" in value else None)
    return None if own is None else own["Id"]


def put(task: DebeziumSinkTask, given: Batch) -> dict[int, str]:
    """The rows that the task rejects, with the reasons."""
    try:
        task.put(given, Deadline.after(60))
    except RejectedRowsError as error:
        return {number: str(why) for number, why in error.rows.items()}
    return {}


@contextmanager
def opened(path: Path, **settings: str) -> Iterator[DebeziumSinkTask]:
    """A task that writes to a file of SQLite. `settings` has keys with `__` for each dot."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    config = {"connection.url": f"jdbc:sqlite:{path}", **SETTINGS, **own, **EVERYWHERE}
    task = DebeziumSinkConnector(DebeziumSinkConfig.parse(config)).task(config)
    task.open(FakeSinkContext())
    task.assigned([TopicPartition(TOPIC, 0)])
    try:
        yield task
    finally:
        task.close()


def rows(path: Path, query: str = "SELECT * FROM shop_public_Orders ORDER BY 1") -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()
