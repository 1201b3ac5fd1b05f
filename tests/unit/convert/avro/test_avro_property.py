"""Any schema and any rows survive Avro, and fastavro reads and writes the same bytes."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest
from avro_codec import decoded, encoded, own_text, rows_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.convert.avro.model import parse_avro
from connect.testing.equality import difference
from connect.testing.strategies import TYPE_CASES, columns, schemas

pytestmark = pytest.mark.thorough

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(schemas())
def test_a_schema_comes_back_from_avro_as_it_was(schema: s.Schema) -> None:
    text = own_text(schema)
    read, _, _ = decoded(parse_avro(text), [])
    assert read == schema


@FEW
@given(columns())
def test_rows_come_back_from_avro_as_they_were(case: tuple[s.Schema, list[Any]]) -> None:
    schema, rows = case
    present = [row for row in rows if row is not None]
    data = encoded(schema, present)
    _, array, failures = decoded(parse_avro(own_text(schema)), data)
    assert failures == {}
    assert difference(present, rows_of(array)) is None


@FEW
@given(columns())
def test_fastavro_reads_what_is_written_here_and_writes_the_same_bytes(case: tuple[s.Schema, list[Any]]) -> None:
    schema, rows = case
    present = [row for row in rows if row is not None]
    avro = fastavro.parse_schema(_without_logical_types(json.loads(own_text(schema))))
    for data in encoded(schema, present):
        stream = io.BytesIO(data)
        value = fastavro.schemaless_reader(stream, avro)
        assert stream.read() == b""
        again = io.BytesIO()
        fastavro.schemaless_writer(again, avro, value)
        assert again.getvalue() == data


@pytest.mark.parametrize("name", TYPE_CASES)
def test_edge_values_come_back(name: str) -> None:
    case = TYPE_CASES[name]
    rows = [{"v": value} for value in case.values]
    schema = s.struct({"v": case.schema})
    _, array, failures = decoded(parse_avro(own_text(schema)), encoded(schema, rows))
    assert failures == {}
    assert difference(rows, rows_of(array)) is None


@FEW
@given(st.lists(st.binary(max_size=30), max_size=8), schemas())
def test_foreign_bytes_fail_their_rows_or_are_values(data: list[bytes], schema: s.Schema) -> None:
    _, array, failures = decoded(parse_avro(own_text(schema)), data)
    assert len(array) == len(data)
    assert set(failures) <= set(range(len(data)))
    array.validate(full=True)


def _without_logical_types(node: Any) -> Any:
    """fastavro turns logical types into Python objects that lose what Arrow keeps; the bytes are those of the base."""
    if isinstance(node, list):
        return [_without_logical_types(item) for item in node]
    if isinstance(node, dict):
        return {k: _without_logical_types(v) for k, v in node.items() if k not in {"logicalType", "default"}}
    return node
