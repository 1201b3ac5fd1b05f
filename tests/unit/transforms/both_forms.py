"""Applies a transform to the same values as rows and as columns, and compares what comes out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.errors import ConnectError, RejectedRowsError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connect.api.schema import Schema
from connect.plugins.catalog import Catalog
from connect.transforms.plugin import connect_plugins

LEAVE = {"python.function.modules": "extra_functions, no_such_module"}
PLUGINS = {p.name.rpartition(".")[2]: p for p in connect_plugins()}
NUMBERS = s.struct({"n": s.INT64, "t": s.STRING.as_optional()})


def build(name: str, **config: str) -> Any:
    plugin = PLUGINS[name]
    given = {k.replace("_", "."): v for k, v in config.items()}
    return Catalog.load(plugin)(plugin.config.parse(plugin.config.with_leave(given, LEAVE)))


def batch_of(column: Column) -> Batch:
    size = len(column)
    consumed = Consumed(TopicPartition("t", 2), pa.array(range(7, 7 + size), pa.int64()), 7 + size)
    return Batch(
        "t", column, Column.from_rows([f"k{i}" for i in range(size)], s.STRING),
        [[Header("h", i)] for i in range(size)], pa.array(range(size), pa.int64()), 2, consumed=consumed,
    )  # fmt: skip


def both(rows: list[Any], schema: Schema) -> tuple[Batch, Batch]:
    by_column = Column.from_arrow(Column.from_rows(rows, schema).arrow(), schema)
    by_row = Column.from_rows(list(Column.from_arrow(by_column.arrow(), schema).rows()), schema)
    return batch_of(by_row), batch_of(by_column)


def result(transform: Any, batch: Batch) -> Any:
    try:
        made = transform.apply(batch)
    except RejectedRowsError as error:
        return {i: str(e) for i, e in error.rows.items()}
    except ConnectError as error:
        return str(error)
    for part in made:
        assert len(part.values.arrow()) == len(part) if part.values.schema is not None else True
    return [
        (r.topic, r.key, r.value, r.offset, [h.value for h in r.headers], r.value_schema)
        for part in made for r in part.rows()
    ]  # fmt: skip


def same(name: str, rows: list[Any], schema: Schema, **config: str) -> Any:
    """What comes out, which is the same for rows and columns."""
    by_row, by_column = both(rows, schema)
    left, right = result(build(name, **config), by_row), result(build(name, **config), by_column)
    assert _zoneless(left) == _zoneless(right)
    return right


def _zoneless(found: Any) -> str:
    """Arrow's UTC and Python's are the same zone."""
    return repr(found).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")


def values(found: Any) -> list[Any]:
    return [row[2] for row in found]


def numbers(*given: int) -> list[Any]:
    return [{"n": n, "t": f"t{n}"} for n in given]
