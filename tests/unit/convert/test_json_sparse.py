"""JSON rows with keys of their own are not made columns, whose memory would grow with the square of the rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as pa
import pytest

from connect.api.records import Column
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

Row = dict[str, Any]


def decoded(rows: list[Row | None]) -> tuple[JsonConverter, Column]:
    converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
    texts = pa.array([None if row is None else orjson.dumps(row) for row in rows], pa.binary())
    (column,) = converter.decode("t", texts)
    return converter, column


@pytest.mark.parametrize(
    "row",
    [
        lambda i: {f"user-{i}": i},
        lambda i: {"id": i, "prices": {f"{i}.{n}": n for n in range(5)}},
        lambda i: {"id": i, "items": [{"sku": 1}, {f"sku-{i}": 1}]},
    ],
    ids=["at the top", "below", "in a list"],
)
def test_rows_with_keys_of_their_own_stay_rows(row: Callable[[int], Row]) -> None:
    rows = [None, *(row(i) for i in range(8000))]
    converter, column = decoded(rows)
    assert not column.is_arrow
    assert column.rows() == rows
    assert [None if text is None else orjson.loads(text) for text in converter.encode("t", column).to_pylist()] == rows


def optional_fields(draw: random.Random) -> Row:
    return {f"field_{draw.randrange(400)}": 1 for _ in range(20)}


@pytest.mark.parametrize(
    "row",
    [
        lambda draw: {"id": draw.randrange(9), "name": "x" * 40},
        optional_fields,
        lambda draw: {"kind": (kind := draw.randrange(30)), **{f"{kind}_{n}": n for n in range(10)}},
    ],
    ids=["all alike", "optional fields", "kinds of events"],
)
def test_rows_that_share_their_keys_are_columns(row: Callable[[random.Random], Row]) -> None:
    draw = random.Random(5)
    rows = [row(draw) for _ in range(8000)]
    _, column = decoded(rows)
    assert column.is_arrow
    assert column.rows() == rows


def test_few_rows_are_columns_whatever_keys_they_have() -> None:
    assert decoded([{f"user-{i}": i} for i in range(1000)])[1].is_arrow
