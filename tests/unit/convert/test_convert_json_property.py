"""Checks that the columnar path and the row path of the JSON converter agree, whatever the schema and the values."""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from convert_strategies import json_values, schemas, values
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Field, Schema, Type
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.testing.equality import difference
from connect.testing.strategies import TYPE_CASES

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("both_ways")]

THOROUGH = settings(max_examples=cases(15, drawn=200), deadline=None, suppress_health_check=list(HealthCheck))


def converter(**settings_given: str) -> JsonConverter:
    return JsonConverter(JsonConfig.parse({k.replace("_", "."): v for k, v in settings_given.items()}))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or struct.pack("d", left) == struct.pack("d", right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, dt.datetime) and isinstance(right, dt.datetime):
        return left == right
    return type(left) is type(right) and bool(left == right)


def loaded(texts: pa.BinaryArray) -> list[Any]:
    return [None if text is None else json.loads(text) for text in texts.to_pylist()]


@st.composite
def columns(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    schema = draw(schemas)
    return schema, draw(st.lists(st.one_of(st.none(), values(schema)), min_size=1, max_size=4))


def arrow_column(schema: Schema, rows: list[Any]) -> Column:
    return Column.from_arrow(Column.from_rows(rows, schema).arrow(), schema)


@pytest.mark.parametrize("enable", ["true", "false"])
@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@THOROUGH
@given(column=columns())
def test_columns_and_rows_are_written_as_the_same_json(
    enable: str, decimals: str, column: tuple[Schema, list[Any]]
) -> None:
    schema, rows = column
    json_converter = converter(schemas_enable=enable, decimal_format=decimals)
    by_rows = pa.array([None if row is None else json_converter.encode_row(schema, row) for row in rows], pa.binary())
    by_columns = json_converter.encode("t", arrow_column(schema, rows))
    if decimals == "BASE64":
        assert by_columns.to_pylist() == by_rows.to_pylist()
    assert same(loaded(by_columns), loaded(by_rows))


@pytest.mark.parametrize("name", TYPE_CASES)
def test_edge_values_and_their_schema_come_back(name: str) -> None:
    case = TYPE_CASES[name]
    schema = Schema(Type.STRUCT, fields=(Field("v", case.schema),))
    rows = [{"v": value} for value in case.values]
    for column in (Column.from_rows(rows, schema), arrow_column(schema, rows)):
        (read,) = converter().decode("t", converter().encode("t", column))
        assert read.schema == schema
        assert difference(rows, list(read.rows())) is None


@THOROUGH
@given(column=columns())
def test_keys_have_javas_bytes(column: tuple[Schema, list[Any]]) -> None:
    schema, rows = column
    json_converter = JsonConverter(JsonConfig.parse({}), is_key=True)
    expected = [None if row is None else json_converter.encode_row(schema, row) for row in rows]
    assert json_converter.encode("t", arrow_column(schema, rows)).to_pylist() == expected


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@THOROUGH
@given(column=columns())
def test_what_is_written_with_its_schema_is_read_back_unchanged(
    decimals: str, column: tuple[Schema, list[Any]]
) -> None:
    schema, rows = column
    json_converter = converter(decimal_format=decimals)
    decoded = json_converter.decode("t", json_converter.encode("t", arrow_column(schema, rows)))
    assert all(part.schema in {schema, None} for part in decoded)
    assert same([row for part in decoded for row in part.rows()], rows)
    for part in decoded:
        if part.schema is not None:
            assert same(Column.from_arrow(part.arrow(), schema).rows(), list(part.rows()))


def assert_columns_agree_with_rows(json_converter: JsonConverter, data: pa.BinaryArray, schema: Schema) -> None:
    columnar = json_converter._decode_columns(data, schema)
    if columnar is None:
        return
    try:
        rows = columnar.rows()
    except SchemaError:  # Arrow holds moments outside the years 1 to 9999, Python does not
        with pytest.raises(RejectedRowsError, match="out of range"):
            json_converter._decode_rows(data, schema, enveloped=False)
        return
    assert same(rows, json_converter._decode_rows(data, schema, enveloped=False))


@THOROUGH
@given(schema=schemas, payloads=st.lists(json_values, min_size=1, max_size=3))
def test_a_columnar_read_takes_only_what_the_row_path_takes(schema: Schema, payloads: list[Any]) -> None:
    json_converter = converter()
    data = pa.array([json.dumps(payload, ensure_ascii=False).encode() for payload in payloads], pa.binary())
    assert_columns_agree_with_rows(json_converter, data, schema)


@THOROUGH
@given(schema=schemas, data=st.data())
def test_a_columnar_read_of_one_wrong_place_takes_only_what_the_row_path_takes(
    schema: Schema, data: st.DataObject
) -> None:
    json_converter = converter(schemas_enable="false")
    right = data.draw(st.lists(values(schema), min_size=1, max_size=3))
    texts = [t for t in json_converter.encode("t", Column.from_rows(right, schema)).to_pylist() if t is not None]
    if not texts:
        return
    broken = data.draw(st.integers(0, len(texts) - 1))
    at = data.draw(st.integers(0, len(texts[broken])))
    inserted = data.draw(
        st.sampled_from([b"", b"0", b'"', b"}", b"{", b",", b"1.5", b"null", b" ", b"\n", b"\xff", b"e9"])
    )
    texts[broken] = texts[broken][:at] + inserted + texts[broken][at + data.draw(st.integers(0, 2)) :]
    rows = pa.array(texts, pa.binary())
    assert_columns_agree_with_rows(json_converter, rows, schema)


def without_nulls(value: Any) -> Any:
    """Arrow cannot tell a field that is null from one that is not there."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if without_nulls(v) not in (None, {})}
    if isinstance(value, list):
        return [without_nulls(v) for v in value]
    return value


def as_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: as_numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_numbers(v) for v in value]
    return Decimal(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@THOROUGH
@given(batches=st.lists(st.lists(json_values, min_size=1, max_size=3), min_size=1, max_size=2))
def test_schemaless_rows_and_their_inferred_columns_hold_the_same(batches: list[list[Any]]) -> None:
    json_converter = converter(schemas_enable="false")
    for batch in batches:
        data = pa.array([json.dumps(row, ensure_ascii=False).encode() for row in batch], pa.binary())
        (column,) = json_converter.decode("t", data)
        assert same(list(column.rows()), [json.loads(row) for row in data.to_pylist()])
        try:
            inferred = column.arrow().to_pylist()
        except SchemaError:
            continue
        assert without_nulls(as_numbers(inferred)) == without_nulls(as_numbers(list(column.rows())))


@THOROUGH
@given(texts=st.lists(st.binary(max_size=12), min_size=1, max_size=3))
def test_bytes_of_any_kind_are_read_or_rejected_at_once(texts: list[bytes]) -> None:
    json_converter = converter(schemas_enable="false")
    rejected: set[int] = set()
    try:
        json_converter.decode("t", pa.array(texts, pa.binary()))
    except RejectedRowsError as error:
        rejected = set(error.rows)
    (column,) = json_converter.decode("t", pa.array([t for i, t in enumerate(texts) if i not in rejected], pa.binary()))
    assert len(column.rows()) == len(texts) - len(rejected)
