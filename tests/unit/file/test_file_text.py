"""Makes lines of values as Java's String.valueOf writes them; columns and rows give the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.records import Column
from connectors.file.text import lines_of

INNER = s.struct({"x": s.STRING.as_optional()}, optional=True)
STRUCT = s.struct({"a": s.INT32, "b": s.STRING.as_optional(), "f": s.FLOAT64.as_optional(), "in": INNER}, optional=True)
UTC = dt.UTC
CASES: list[tuple[s.Schema, list[Any], str]] = [
    (s.STRING.as_optional(), ["a", "", "é☃😀", "x y", None], "a\n\né☃😀\nx y\nnull\n"),
    (s.INT8, [-128, 127], "-128\n127\n"),
    (s.INT64.as_optional(), [2**63 - 1, None], "9223372036854775807\nnull\n"),
    (s.BOOLEAN, [True, False], "true\nfalse\n"),
    (
        s.FLOAT64,
        [1.5, 100.0, 1e10, 1e7, 9999999.0, 1e-3, 9e-4, -0.0, 5e-324, 2e23, 1.7976931348623157e308],
        "1.5\n100.0\n1.0E10\n1.0E7\n9999999.0\n0.001\n9.0E-4\n-0.0\n4.9E-324\n2.0E23\n1.7976931348623157E308\n",
    ),
    (s.FLOAT64, [float("nan"), float("inf"), float("-inf")], "NaN\nInfinity\n-Infinity\n"),
    (s.FLOAT32, [0.10000000149011612, 1e10, 16777216.0], "0.1\n1.0E10\n1.6777216E7\n"),
    (s.decimal(2), [Decimal("123.45"), Decimal("-0.10")], "123.45\n-0.10\n"),
    (s.decimal(10), [Decimal("0.0000000001")], "1E-10\n"),
    (s.BYTES.as_optional(), [b"\xff\x00", None], "raw"),
    (s.DATE_SCHEMA, [dt.date(2024, 2, 3)], "Sat Feb 03 00:00:00 UTC 2024\n"),
    (s.TIME_SCHEMA, [dt.time(4, 5, 6)], "Thu Jan 01 04:05:06 UTC 1970\n"),
    (s.TIMESTAMP_SCHEMA, [dt.datetime(2024, 2, 3, 4, 5, 6, 7000, UTC)], "Sat Feb 03 04:05:06 UTC 2024\n"),
    (s.array(s.INT8.as_optional()), [[1, 2], [], [None]], "[1, 2]\n[]\n[null]\n"),
    (s.map_of(s.STRING, s.INT32), [{"a": 1, "b": 2}, {}], "{a=1, b=2}\n{}\n"),
    (s.map_of(s.INT32, s.STRING), [{1: "x"}], "{1=x}\n"),
    (
        STRUCT,
        [{"a": 1, "b": "x", "f": 100.0, "in": {"x": "y"}}, {"a": 2, "b": None, "f": None, "in": {"x": None}}, None],
        "Struct{a=1,b=x,f=100.0,in=Struct{x=y}}\nStruct{a=2,in=Struct{}}\nnull\n",
    ),
    (s.struct({"line": s.STRING.as_optional()}), [{"line": "a"}, {"line": None}], "Struct{line=a}\nStruct{}\n"),
    (s.struct({}), [{}, {}], "Struct{}\nStruct{}\n"),
    (s.struct({"b": s.BYTES}), [{"b": b"\xff\x00"}], "Struct{b=/wA=}\n"),
]


@pytest.mark.parametrize(("schema", "rows", "text"), CASES, ids=lambda v: v.type if isinstance(v, s.Schema) else "")
def test_columns_and_rows_give_the_text_of_java(schema: s.Schema, rows: list[Any], text: str) -> None:
    wanted = b"\xff\x00\nnull\n" if text == "raw" else text.encode()
    by_row = Column.from_rows(rows, schema)
    assert lines_of(by_row) == wanted
    array = by_row.arrow()
    assert lines_of(Column.from_arrow(array, schema)) == wanted
    longer = pa.concat_arrays([array, array]).slice(len(array))
    assert lines_of(Column.from_arrow(longer, schema)) == wanted


def test_values_without_schema_are_written_by_their_type() -> None:
    rows = ["s", 1, 1.5, 1e10, True, None, [1, "a", None], {"a": 1}, 12345678901, {"a": {"b": []}}, float("inf")]
    text = "s|1|1.5|1.0E10|true|null|[1, a, null]|{a=1}|12345678901|{a={b=[]}}|Infinity|"
    assert lines_of(Column.from_rows(rows, None)).decode() == text.replace("|", "\n")
    mapped = {"a": {"b": 1}}
    as_arrow = Column(None, 1, arrow=lambda: pa.array([mapped]), rows=lambda: [mapped])
    assert lines_of(as_arrow) == b"{a={b=1}}\n"
    assert lines_of(Column(None, 2, arrow=lambda: pa.array(["x", None]))) == b"x\nnull\n"


def test_no_rows_are_no_lines() -> None:
    assert lines_of(Column.from_rows([], s.STRING)) == b""
