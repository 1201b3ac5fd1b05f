"""The native code reads Avro to the columns of the Python code, and leaves to it every row that is no Avro."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from drawn_cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from test_avro_native import PREFIX, array_of, tables

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError
from connect.convert.avro.converter import AvroFormat
from connect.convert.avro.decode import decoder
from connect.convert.avro.encode import encoder
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.model import AvroType, avro_text, parse_avro
from connect.convert.avro.native_plan import reading_plan_of
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of
from connect.convert.registry.client import Registered
from connect.convert.vectors.cursor import Cursor
from connect.convert.vectors.pieces import joined

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)
HEAD = len(PREFIX)
PLAIN = AvroSettings()
NULLABLE_TEXT = ["null", "string"]
DATE = {"type": "int", "logicalType": "date"}
TIME = {"type": "int", "logicalType": "time-millis"}
INT8 = {"type": "int", "connect.type": "int8"}


def record(*types: Any) -> AvroType:
    fields = [{"name": f"f{place}", "type": kind} for place, kind in enumerate(types)]
    return parse_avro(json.dumps({"type": "record", "name": "t", "fields": fields}))


def by_native(avro: AvroType, data: pa.BinaryArray) -> pa.Array | None:
    schema = connect_of(avro, PLAIN)
    plan = reading_plan_of(schema, avro)
    assert plan is not None
    made = native.decode_avro(data, arrow_type(schema), plan, head=HEAD)
    if made is not None:
        made.validate(full=True)
    return made


def by_python(avro: AvroType, data: pa.BinaryArray) -> pa.Array | None:
    cursor = Cursor.over(data, HEAD)
    array = decoder(connect_of(avro, PLAIN), avro, PLAIN)(cursor)
    cursor.expect_end()
    return None if cursor.failures else array


def rows(*values: bytes) -> pa.BinaryArray:
    return pa.array([PREFIX + value for value in values], pa.binary())


def written(array: pa.Array, schema: s.Schema) -> pa.BinaryArray:
    parts = encoder(schema, avro_of(schema, PLAIN), PLAIN)(array)
    return joined([pa.scalar(PREFIX), *parts, pa.array([b""] * len(array))])


@pytest.mark.thorough
@settings(max_examples=cases(60, drawn=600), deadline=None)
@given(tables())
def test_columns_are_those_of_the_python_code(table: tuple[s.Schema, list[Any], int]) -> None:
    schema, values, start = table
    avro = avro_of(schema, PLAIN)
    data = written(array_of(values * 2, schema), schema)[start:]
    ours, expected = by_native(avro, data), by_python(avro, data)
    assert ours is not None
    assert expected is not None
    assert ours.type.equals(expected.type)
    # Compared as bytes, since NaN is not itself and Python has no year 0.
    assert written(ours, schema).equals(written(expected, schema))
    assert written(ours, schema).equals(data)


@pytest.mark.thorough
@settings(max_examples=cases(60, drawn=600), deadline=None)
@given(tables(), st.data())
def test_damaged_rows_are_refused_or_read_as_the_python_code_does(
    table: tuple[s.Schema, list[Any], int], draw: st.DataObject
) -> None:
    schema, values, _ = table
    whole = written(array_of(values[:1], schema), schema)[0].as_py()[HEAD:]
    place = draw.draw(st.integers(0, len(whole)))
    put, drop = draw.draw(st.binary(max_size=3)), draw.draw(st.integers(0, 2))
    data = rows(whole[:place] + put + whole[place + drop :])
    avro = avro_of(schema, PLAIN)
    ours, expected = by_native(avro, data), by_python(avro, data)
    assert (ours is None) == (expected is None)
    if ours is not None:
        assert ours.type.equals(expected.type)
        assert written(ours, schema).equals(written(expected, schema))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("long", b""), ("long", b"\x80"), ("long", b"\xff" * 9 + b"\x02"), ("long", b"\x80" * 10 + b"\x00"),
        ("long", b"\x02\x00"), ("int", b"\x80\x80\x80\x80\x10"), (INT8, b"\x80\x02"), (TIME, b"\x01"),
        (TIME, b"\x80\xf0\xb2\x52"), ("boolean", b"\x02"), ("boolean", b""), ("double", b"\x00" * 7),
        ("float", b"\x00" * 3), ("string", b"\x01"), ("string", b"\x04a"), ("string", b"\x02\xff"),
        ("string", b"\x02\xc3"), ("string", b"\x04\xc0\x80"), ("string", b"\x04\xc3\x41"),
        ("string", b"\x06\xe0\x80\x80"), ("string", b"\x06\xed\xa0\x80"), ("string", b"\x06\xe2\x82\x41"),
        ("string", b"\x08\xf0\x80\x80\x80"), ("string", b"\x08\xf4\x90\x80\x80"), ("string", b"\x08\xf5\x80\x80\x80"),
        ("string", b"\x06\xf0\x9f\x98"), ("string", b"\x14aaaaaaaa\xe2\x82"), ("bytes", b"\x04a"),
        (NULLABLE_TEXT, b"\x04"), (NULLABLE_TEXT, b"\x01"), (NULLABLE_TEXT, b"\x02"),
    ],
)  # fmt: skip
def test_what_is_no_value_is_left_to_the_code_that_names_it(kind: Any, value: bytes) -> None:
    avro = record(kind)
    assert by_python(avro, rows(value)) is None
    assert by_native(avro, rows(value)) is None


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("long", b"\xff" * 9 + b"\x01", -(2**63)), ("long", b"\xfe" + b"\xff" * 8 + b"\x01", 2**63 - 1),
        ("long", b"\x82\x80\x00", 1), ("int", b"\xff\xff\xff\xff\x0f", -(2**31)), (INT8, b"\xff\x01", -128),
        ("boolean", b"\x01", True), ("string", b"\x08\xf0\x9f\x98\x80", "\U0001f600"),
        ("string", b"\x08\xf4\x8f\xbf\xbf", "\U0010ffff"), ("string", b"\x06\xed\x9f\xbf", "\ud7ff"),
        ("string", b"\x14aaaaaaaa\xc3\xa9", "aaaaaaaa\xe9"), ("string", b"\x00", ""),
        ("bytes", b"\x04\xff\x00", b"\xff\x00"),
        (NULLABLE_TEXT, b"\x00", None), (NULLABLE_TEXT, b"\x80\x00", None), (NULLABLE_TEXT, b"\x02\x02a", "a"),
        (["string", "null"], b"\x02", None), (["string", "null"], b"\x00\x02a", "a"),
    ],
)  # fmt: skip
def test_edge_values_are_read(kind: Any, value: bytes, read: Any) -> None:
    avro = record(kind)
    assert by_native(avro, rows(value)).to_pylist() == [{"f0": read}]
    assert by_python(avro, rows(value)).to_pylist() == [{"f0": read}]


def test_what_follows_nulls_keeps_its_place() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": "int"}]}
    avro = record(["null", inner], ["null", "boolean"], DATE)
    data = rows(b"\x02\x02a\x02\x02\x01\x04", b"\x00\x00\x06", b"\x02\x02b\x04\x00\x08")
    ours = by_native(avro, data)
    assert ours.equals(by_python(avro, data))
    assert ours.field(0).to_pylist() == [{"x": "a", "y": 1}, None, {"x": "b", "y": 2}]
    assert ours.field(1).to_pylist() == [True, None, None]


@pytest.mark.parametrize(
    "kind",
    [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}, ["int", "string"], ["null", "int", "string"],
     {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, {"type": "fixed", "name": "x", "size": 2},
     {"type": "enum", "name": "e", "symbols": ["A"]}],
)  # fmt: skip
def test_other_types_have_no_plan(kind: Any) -> None:
    avro = record(kind)
    assert reading_plan_of(connect_of(avro, PLAIN), avro) is None


@pytest.mark.parametrize(
    ("plan", "kind"),
    [(b"", pa.int32()), (b"r", pa.int32()), (b"r\x00\x01\x00\x05i", pa.int32()), (b"r\x00\x01\x00\x00g", pa.int32()),
     (b"r\x00\x01\x00\x00ii", pa.int32()), (b"r\x00\x01\x00\x00s", pa.large_string()), (b"r\x00\x00", pa.int32()),
     (b"r\x00\x02\x00\x00i\x00\x01i", pa.int32()), (b"r\x00\x01\x00\x00?", pa.int32()),
     (b"r\x00\x01\x00\x00x", pa.int32()), (b"i", pa.int32())],
)  # fmt: skip
def test_a_plan_that_does_not_go_with_the_type_reads_nothing(plan: bytes, kind: pa.DataType) -> None:
    assert native.decode_avro(rows(b"\x02"), pa.struct([("f0", kind)]), plan, head=HEAD) is None


def test_rows_without_a_frame_and_null_rows_are_not_read() -> None:
    plan, wire = b"r\x00\x01\x00\x00i", pa.struct([("f0", pa.int32())])
    for data in ([PREFIX[:-1]], [PREFIX + b"\x02", None]):
        assert native.decode_avro(pa.array(data, pa.binary()), wire, plan, head=HEAD) is None
    assert native.decode_avro(pa.array([PREFIX + b"\x02"], pa.large_binary()), wire, plan, head=HEAD) is None


def test_the_converter_reads_natively_and_names_bad_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    avro = record("long", "string")
    read = AvroFormat(PLAIN).reading(Registered(avro_text(avro)), (), None).decode
    good, bad = b"\x02\x02a", b"\x02\x02\xff"
    with pytest.raises(RejectedRowsError) as caught:
        read(rows(good, bad))
    assert {row: str(error) for row, error in caught.value.rows.items()} == {
        1: "The record is no value of its Avro schema: a text is not UTF-8."
    }
    monkeypatch.setattr(Cursor, "over", lambda *_: pytest.fail("NumPy was asked"))
    assert read(rows(good)).to_pylist() == [{"f0": 1, "f1": "a"}]
