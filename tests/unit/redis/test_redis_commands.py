"""Commands of records: what each command of Redis gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.redis.commands import Command, commands_of
from connectors.redis.config import RedisSinkConfig

BEYOND_MS = 253_402_300_800_000


def commands(
    command: str,
    values: Column | Sequence[Any],
    keys: Column | Sequence[Any] | None = None,
    schema: s.Schema | None = None,
    **given: str,
) -> tuple[list[tuple[int, Command]], dict[int, Exception]]:
    config = RedisSinkConfig.parse({"redis.command": command, **{f"redis.{k}": v for k, v in given.items()}})
    column = values if isinstance(values, Column) else Column.from_rows(values, schema)
    named = keys if isinstance(keys, Column | None) else Column.from_rows(keys, None)
    consumed = Consumed(TopicPartition("orders", 0), pa.array(range(len(column)), pa.int64()), len(column))
    return commands_of(config.target(), Batch("orders", column, named, consumed=consumed))


def made(*args: Any, **given: Any) -> list[Command]:
    found, bad = commands(*args, **given)
    assert bad == {}
    return [command for _, command in found]


def instants(*times_ms: int) -> Column:
    array = pa.array(times_ms, pa.int64()).cast(arrow_type(s.TIMESTAMP_SCHEMA))
    return Column.from_arrow(array, s.TIMESTAMP_SCHEMA)


def test_an_instant_after_the_year_9999_is_one_bad_row() -> None:
    found, bad = commands("SET", instants(5, BEYOND_MS, 6), ["a", "b", "c"])
    assert found == [(0, ("SET", b"orders:a", b"5")), (2, ("SET", b"orders:c", b"6"))]
    assert {row: type(error) for row, error in bad.items()} == {1: SchemaError}
    found, bad = commands("SET", ["x", "y"], instants(BEYOND_MS, 6))
    assert (found, list(bad)) == ([(1, ("SET", b"orders:6", b"y"))], [0])
