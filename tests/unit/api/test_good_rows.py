"""Rows that have a form are converted beside one that has none."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.values.good_rows import good_parts, good_rows, good_values

AT = s.struct({"at": s.TIMESTAMP_SCHEMA})
BEYOND_MS = 253_402_300_800_000


def instants(*times_ms: int) -> Column:
    """Return a column as the converters make it: its rows come of the whole array."""
    at = pa.array(times_ms, pa.int64()).cast(arrow_type(s.TIMESTAMP_SCHEMA))
    array = pa.StructArray.from_arrays([at], fields=list(arrow_type(AT)))
    return Column(AT, len(array), arrow=lambda: array, rows=lambda: rows_from_arrow(array))


def test_an_instant_after_the_year_9999_is_one_bad_row() -> None:
    rows, bad = good_rows(instants(0, BEYOND_MS, 1000), 3)
    assert [row and row["at"].second for row in rows] == [0, None, 1]
    assert {row: type(error) for row, error in bad.items()} == {1: SchemaError}


def test_good_columns_are_converted_at_once() -> None:
    calls: list[int] = []

    def convert(column: Column) -> list[Any]:
        calls.append(len(column))
        return [row["at"] for row in column.rows()]

    values, bad = good_values(instants(0, 0), convert)
    assert (values, bad, calls) == ([dt.datetime(1970, 1, 1, tzinfo=dt.UTC)] * 2, {}, [2])


def test_no_column_is_nulls_and_rows_without_a_schema_are_tried_too() -> None:
    assert good_rows(None, 2) == ([None, None], {})

    def refuse_b(column: Column) -> bytes:
        if "b" in column.rows():
            raise SchemaError("no b")
        return "".join(column.rows()).encode()

    parts, bad = good_parts(Column.from_rows(["a", "b", "c"], None), refuse_b)
    assert (parts, list(bad)) == ([b"a", b"c"], [1])


def test_other_errors_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        good_parts(instants(0), lambda _: 1 // 0)
