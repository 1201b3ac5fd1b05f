"""Columns of numbers and texts have the bytes that the row path, held against Java's recordings, writes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

UNTIMED = settings(deadline=None)
EDGES = [1e7, 9999999.0, 1e-3, 9.99e-4, 1e16, 1e17, -1.2345e20, 1e-5, 1.5e-7, 123456789.125, 0.0, -0.0, 1e-299]


def encoded(schema: Schema, rows: list) -> tuple[list, list]:
    json_converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
    by_rows = [None if row is None else json_converter.encode_row(schema, row) for row in rows]
    column = Column.from_arrow(Column.from_rows(rows, schema).arrow(), schema)
    return json_converter._encode_columns(column).to_pylist(), by_rows


@pytest.mark.thorough
@UNTIMED
@given(st.lists(st.one_of(st.none(), st.floats().filter(lambda x: not 0 < abs(x) < 1e-300)), min_size=1))
def test_a_column_of_doubles_is_written_as_its_rows_are(rows):
    by_columns, by_rows = encoded(s.FLOAT64.as_optional(), rows)
    assert by_columns == by_rows


@pytest.mark.thorough
@UNTIMED
@given(st.lists(st.floats(width=32).filter(lambda x: not 0 < abs(x) < 1e-37), min_size=1))
def test_a_column_of_floats_is_written_as_its_rows_are(rows):
    by_columns, by_rows = encoded(s.FLOAT32, rows)
    assert by_columns == by_rows


def test_numbers_where_javas_notation_changes_are_written_as_rows_are():
    assert encoded(s.FLOAT64, EDGES)[0] == encoded(s.FLOAT64, EDGES)[1]
    singles = [struct.unpack("<f", struct.pack("<f", x))[0] for x in EDGES[:-1]]
    assert encoded(s.FLOAT32, singles)[0] == encoded(s.FLOAT32, singles)[1]


@pytest.mark.parametrize("schema", [s.FLOAT64, s.FLOAT32])
def test_the_smallest_numbers_are_left_to_the_row_path(schema):
    tiny = [1.401298464324817e-45] if schema is s.FLOAT32 else [5e-324]
    json_converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
    column = Column.from_arrow(Column.from_rows(tiny, schema).arrow(), schema)
    assert json_converter.encode("t", column).to_pylist() == [json_converter.encode_row(schema, tiny[0])]


@pytest.mark.thorough
@UNTIMED
@given(st.lists(st.one_of(st.none(), st.text(st.sampled_from('aé☃😀𝄞\\"u\x01\x1f\x7f\b\n001f'))), min_size=1))
def test_a_column_of_texts_is_written_as_its_rows_are(rows):
    by_columns, by_rows = encoded(s.STRING.as_optional(), rows)
    assert by_columns == by_rows
