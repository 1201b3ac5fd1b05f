"""Checks the bytes that rows have in objects of JSON lines, where they are written column by column."""

from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Column
from connectors.s3.formats.json_lines import json_lines

LINES = [
    r'{"id":-9223372036854775808,"f":1.1,"d":1e+20,"s":"Zürich \"x\" \\ /","ok":true}',
    r'{"id":null,"f":null,"d":-0.0,"s":null,"ok":null}',
    '{"id":1,"f":10000000000.0,"d":15000000.0,"s":"\\u0000\\u001f\x7f\\n\\t\u2028\U0001f600,\\n  ","ok":false}',
    None,
    r'{"id":2,"f":16777216.0,"d":1e+16,"s":"","ok":false}',
    r'{"id":3,"f":0.00001,"d":1.2345678901234566e-7,"s":"<&>","ok":false}',
    r'{"id":4,"f":3.4028235e+38,"d":5e-324,"s":"\",\n  \"","ok":true}',
]
"""Lines of each release so far, byte for byte: a running connector goes on with them in its objects."""


@pytest.mark.parametrize("start", range(len(LINES)))
def test_json_by_columns_keeps_its_bytes(start):
    schema = s.struct({
        "id": s.INT64.as_optional(), "f": s.FLOAT32.as_optional(), "d": s.FLOAT64, "s": s.STRING.as_optional(),
        "ok": s.BOOLEAN.as_optional(),
    })  # fmt: skip
    lines = LINES[start:]
    rows = pa.array([None if line is None else json.loads(line) for line in lines], arrow_type(schema))
    written = json_lines(Column.from_arrow(rows, schema), numeric_decimals=False)
    assert written.to_pylist() == [None if line is None else line.encode() for line in lines]


def test_json_of_schemaless_columns_keeps_its_bytes():
    rows = pa.array(
        [{"in": {"a": 1.0, "b": [1, None]}, "day": day, "no": None, 'a"': "b"} for day in (None, date(2024, 1, 1))]
    )
    lines = [b'{"in":{"a":1.0,"b":[1,null]},"day":null,"no":null,"a\\"":"b"}',
             b'{"in":{"a":1.0,"b":[1,null]},"day":19723,"no":null,"a\\"":"b"}']  # fmt: skip
    assert json_lines(Column.whole(rows), numeric_decimals=False).to_pylist() == lines
    assert json_lines(Column.whole(rows[:0]), numeric_decimals=False).to_pylist() == []
