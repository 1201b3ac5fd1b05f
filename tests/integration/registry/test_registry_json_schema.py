"""Checks JsonSchemaConverter on a real registry, beside confluent-kafka's own serializer and deserializer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema as PeerSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Column

CONVERTER = "io.confluent.connect.json.JsonSchemaConverter"
ROW = s.struct(
    {
        "id": s.INT64, "note": s.STRING.as_optional(), "ratio": s.FLOAT64, "tags": s.array(s.STRING),
        "counts": s.map_of(s.STRING, s.INT32), "place": s.struct({"x": s.INT32}, name="shop.Place", optional=True),
    },
    name="shop.Row",
)  # fmt: skip
ROWS = [
    {"id": 2**53 + 1, "note": None, "ratio": 0.1, "tags": ["a", "\U0001f980"], "counts": {"k": -1}, "place": None},
    {"id": -1, "note": "", "ratio": -2.5, "tags": [], "counts": {}, "place": {"x": 3}},
]


def _value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_confluents_deserializer_reads_what_is_written_here(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    data = make_converter(CONVERTER).encode(unique, Column.from_rows([*ROWS, None], ROW))
    assert data[2].as_py() is None
    read = JSONDeserializer(None, schema_registry_client=peer)
    assert [read(row.as_py(), _value(unique)) for row in data.slice(0, 2)] == ROWS


def test_what_confluents_serializer_writes_is_read_here(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    converter = make_converter(CONVERTER)
    converter.encode(unique, Column.from_rows(ROWS, ROW))
    write = JSONSerializer(peer.get_latest_version(f"{unique}-value").schema.schema_str, peer)
    rows = [write(row, _value(unique)) for row in ROWS]
    (column,) = converter.decode(unique, pa.array([rows[0], None, rows[1]], pa.binary()))
    assert list(column.rows()) == [ROWS[0], None, ROWS[1]]
    assert (column.schema.name, column.schema.version) == ("shop.Row", 1)


def test_references_are_followed(make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str) -> None:
    place = {"type": "object", "title": "Place", "properties": {"x": {"type": "integer", "connect.type": "int32"}}}
    order = {"type": "object", "title": "Order", "properties": {"at": {"$ref": "place.json"}}}
    peer.register_schema(f"{unique}-place", PeerSchema(json.dumps(place), "JSON"))
    reference = SchemaReference("place.json", f"{unique}-place", 1)
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(order), "JSON", [reference]))
    converter = make_converter(CONVERTER, auto_register_schemas="false", use_latest_version="true")
    schema = s.struct({"at": s.struct({"x": s.INT32}, name="Place")}, name="Order")
    (column,) = converter.decode(unique, converter.encode(unique, Column.from_rows([{"at": {"x": 3}}], schema)))
    assert column.rows() == [{"at": {"x": 3}}]


def test_the_latest_schema_must_have_a_place_for_every_field(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    latest = {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "integer"}}}
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(latest), "JSON"))
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    rows = Column.from_rows([{"a": 1, "b": 2}], s.struct({"a": s.INT64, "b": s.INT64}))
    with pytest.raises(RejectedRowsError, match="Field 'b': The record has this field, the registered schema has not"):
        make_converter(CONVERTER, **settings).encode(unique, rows)
    loose = make_converter(CONVERTER, latest_compatibility_strict="false", **settings)
    assert loose.encode(unique, rows)[0].as_py()[5:] == b'{"a":1,"b":2}'


def test_a_row_that_breaks_a_rule_of_the_schema_is_rejected_when_rows_are_checked(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    latest = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}}
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(latest), "JSON"))
    converter = make_converter(
        CONVERTER, auto_register_schemas="false", use_latest_version="true", json_fail_invalid_schema="true"
    )
    with pytest.raises(
        RejectedRowsError, match="Field 'a': The JSON Schema says: -1 is less than the minimum of 0"
    ) as bad:
        converter.encode(unique, Column.from_rows([{"a": 1}, {"a": -1}], s.struct({"a": s.INT64})))
    assert set(bad.value.rows) == {1}


def test_a_record_of_another_format_is_rejected_with_the_fix(make_converter: Callable[..., Any], unique: str) -> None:
    avro = make_converter("io.confluent.connect.avro.AvroConverter")
    data = avro.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32})))
    with pytest.raises(RejectedRowsError, match=r"is AVRO, not a JSON Schema\. Use the converter of that format"):
        make_converter(CONVERTER).decode(unique, data)
