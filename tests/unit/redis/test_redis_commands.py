"""Makes commands of records: what each command of Redis gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

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


@pytest.mark.parametrize("command", ["LPUSH", "RPUSH"])
def test_the_members_of_a_list_are_the_keys(command: str) -> None:
    rows = ["v", {"x": 1}, None]
    assert made(command, rows, ["a", b"\x00", "c"], keyspace="l-${topic}") == [
        (command, "l-orders", b"a"), (command, "l-orders", b"\x00"), (command, "l-orders", b"c"),
    ]  # fmt: skip


def test_the_members_of_a_set_are_the_keys_and_leave_it_by_a_null() -> None:
    found, bad = commands("SADD", ["v", None, "w"], ["a", "b", None])
    assert found == [(0, ("SADD", "orders", b"a")), (1, ("SREM", "orders", b"b"))]
    assert {row: type(error) for row, error in bad.items()} == {2: SchemaError}


def test_texts_and_bytes_are_json_already() -> None:
    values = ['{"a": 1}', b"[1,  2]", {"a": "x"}, 7]
    assert [command[3] for command in made("JSONSET", values, ["a", "b", "c", "d"])] == [
        b'{"a": 1}', b"[1,  2]", b'{"a":"x"}', b"7",
    ]  # fmt: skip


def test_an_empty_keyspace_leaves_the_key_alone() -> None:
    assert made("SET", ["v", None], ["k", "l"], keyspace="") == [("SET", b"k", b"v"), ("DEL", b"l")]


def test_fields_that_are_null_now_leave_the_hash() -> None:
    row = s.struct({"a": s.INT32.as_optional(), "b": s.INT32.as_optional()})
    assert made("HSET", [{"a": 3, "b": None}, {"a": None, "b": None}], ["k", "l"]) == [
        ("HSET", b"orders:k", b"a", b"3"), ("HDEL", b"orders:k", "b"), ("HDEL", b"orders:l", "a", "b"),
    ]  # fmt: skip
    assert made("HSET", [{"a": 3}], ["k"], schema=row) == [
        ("HSET", b"orders:k", b"a", b"3"), ("HDEL", b"orders:k", "b"),
    ]  # fmt: skip
    _, bad = commands("HSET", [{}, "text"], ["k", "l"])
    assert list(bad) == [0, 1]


@pytest.mark.parametrize("command", ["SET", "HSET", "JSONSET", "SADD"])
def test_a_row_that_would_replace_another_one_of_its_record_is_bad(command: str) -> None:
    config = RedisSinkConfig.parse({"redis.command": command})
    values: list[Any] = [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}, None, {"a": 5}]
    keys = Column.from_rows(["x", "x", "x", "y", "y", "y"], s.STRING)
    offsets, numbers = pa.array([3, 4, 4, 4, 4, 4]), pa.array([0, 1, 2, 3, 4, 5])
    consumed = Consumed(TopicPartition("orders", 0), offsets, 5, row_numbers=numbers)
    found, bad = commands_of(config.target(), Batch("orders", Column.from_rows(values, None), keys, consumed=consumed))
    lost = [] if command == "SADD" else [2]
    assert (list(bad), [row for row, _ in found]) == (lost, [row for row in range(6) if row not in lost])
    assert all("another one of them has the same key" in str(why) for why in bad.values())
