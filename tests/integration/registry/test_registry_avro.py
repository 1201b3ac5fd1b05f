"""Checks AvroConverter on a real registry, beside confluent-kafka's own serializer and deserializer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import requests
from confluent_kafka.schema_registry import Schema as PeerSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Column
from connect.testing.equality import difference
from connect.tools.services import SchemaRegistryService

CONVERTER = "io.confluent.connect.avro.AvroConverter"
UTC = dt.UTC
ROW = s.struct(
    {
        "id": s.INT64, "small": s.INT8, "price": s.decimal(2, precision=10), "note": s.STRING.as_optional(),
        "day": s.DATE_SCHEMA, "at": s.TIMESTAMP_SCHEMA, "clock": s.TIME_SCHEMA, "tags": s.array(s.STRING),
        "counts": s.map_of(s.STRING, s.INT32), "place": s.struct({"x": s.FLOAT64}, name="shop.Place", optional=True),
    },
    name="shop.Row",
)  # fmt: skip
ROWS = [
    {
        "id": 2**53 + 1, "small": -128, "price": Decimal("12.30"), "note": None, "day": dt.date(2024, 2, 29),
        "at": dt.datetime(2024, 2, 29, 1, 2, 3, 4000, UTC), "clock": dt.time(23, 59, 59, 999000),
        "tags": ["a", "\U0001f980"],
        "counts": {"k": -1}, "place": None,
    },
    {
        "id": -1, "small": 127, "price": Decimal("-0.01"), "note": "", "day": dt.date(1, 1, 1),
        "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), "clock": dt.time(0), "tags": [],
        "counts": {}, "place": {"x": -0.0},
    },
]  # fmt: skip


def _value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_confluents_deserializer_reads_what_is_written_here(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    data = make_converter(CONVERTER).encode(unique, Column.from_rows([*ROWS, None], ROW))
    assert data[2].as_py() is None
    read = AvroDeserializer(peer)
    assert difference(ROWS, [read(row.as_py(), _value(unique)) for row in data.slice(0, 2)]) is None


def test_what_confluents_serializer_writes_is_read_here(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    converter = make_converter(CONVERTER)
    converter.encode(unique, Column.from_rows(ROWS, ROW))
    text = peer.get_latest_version(f"{unique}-value").schema.schema_str
    write = AvroSerializer(peer, text)
    rows = [write(row, _value(unique)) for row in ROWS]

    (column,) = converter.decode(unique, pa.array([rows[0], None, rows[1]], pa.binary()))

    assert difference([ROWS[0], None, ROWS[1]], list(column.rows())) is None
    assert column.schema.name == "shop.Row"
    assert column.schema.version == 1
    assert column.schema.field("place") == ROW.field("place")
    assert converter.encode(unique, Column.from_rows(ROWS, ROW)).to_pylist() == rows


def test_a_schema_is_registered_as_javas_converter_registers_it(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    make_converter(CONVERTER).encode(unique, Column.from_rows(ROWS, ROW))
    registered = json.loads(peer.get_latest_version(f"{unique}-value").schema.schema_str)
    fields = {field["name"]: field for field in registered["fields"]}
    assert (registered["name"], registered["namespace"]) == ("Row", "shop")
    assert registered["connect.name"] == "shop.Row"
    assert fields["note"] == {"name": "note", "type": ["null", "string"], "default": None}
    assert fields["small"]["type"] == {"type": "int", "connect.type": "int8"}
    assert fields["at"]["type"] == {
        "type": "long", "connect.version": 1, "connect.name": "org.apache.kafka.connect.data.Timestamp",
        "logicalType": "timestamp-millis",
    }  # fmt: skip
    assert fields["price"]["type"] == {
        "type": "bytes", "scale": 2, "precision": 10, "connect.version": 1, "logicalType": "decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "connect.name": "org.apache.kafka.connect.data.Decimal",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("TopicNameStrategy", "{topic}-value"), ("RecordNameStrategy", "shop.{topic}"),
     ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "{topic}-shop.{topic}")],
)  # fmt: skip
def test_a_schema_is_registered_under_the_subject_of_the_strategy(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str, strategy: str, subject: str
) -> None:
    schema = s.struct({"a": s.INT32}, name=f"shop.{unique}")
    converter = make_converter(CONVERTER, value_subject_name_strategy=strategy)
    converter.encode(unique, Column.from_rows([{"a": 1}], schema))
    assert subject.format(topic=unique) in peer.get_subjects()


def test_the_latest_version_is_written_with_its_own_order_and_defaults(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    latest = {"type": "record", "name": "Row", "fields": [
        {"name": "added", "type": ["null", "string"], "default": None}, {"name": "b", "type": ["string", "null"]},
        {"name": "a", "type": "long"}, {"name": "kind", "type": "string", "default": "new"},
    ]}  # fmt: skip
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(latest), "AVRO"))
    converter = make_converter(CONVERTER, auto_register_schemas="false", use_latest_version="true")
    rows = Column.from_rows([{"a": 7, "b": "x"}], s.struct({"a": s.INT32, "b": s.STRING.as_optional()}, name="Row"))

    data = converter.encode(unique, rows)

    read = AvroDeserializer(peer)(data[0].as_py(), _value(unique))
    assert read == {"added": None, "b": "x", "a": 7, "kind": "new"}


def test_references_are_followed(make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str) -> None:
    from confluent_kafka.schema_registry import SchemaReference

    place = {"type": "record", "name": "shop.Place", "fields": [{"name": "x", "type": "int"}]}
    order = {"type": "record", "name": "shop.Order", "fields": [{"name": "at", "type": "shop.Place"}]}
    peer.register_schema(f"{unique}-place", PeerSchema(json.dumps(place), "AVRO"))
    reference = SchemaReference("shop.Place", f"{unique}-place", 1)
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(order), "AVRO", [reference]))
    converter = make_converter(CONVERTER, auto_register_schemas="false", use_latest_version="true")
    schema = s.struct({"at": s.struct({"x": s.INT32}, name="shop.Place")}, name="shop.Order")

    data = converter.encode(unique, Column.from_rows([{"at": {"x": 3}}], schema))
    (column,) = converter.decode(unique, data)

    assert column.rows() == [{"at": {"x": 3}}]
    assert column.schema.field("at").name == "shop.Place"


def test_rows_of_two_schema_ids_are_two_runs(make_converter: Callable[..., Any], unique: str) -> None:
    converter = make_converter(CONVERTER)
    first = converter.encode(unique, Column.from_rows([{"a": 1}, {"a": 2}], s.struct({"a": s.INT32}, name="R")))
    second = converter.encode(unique, Column.from_rows([{"a": "x"}], s.struct({"a": s.STRING}, name="R")))
    columns = converter.decode(unique, pa.concat_arrays([first, second, first]))
    assert [list(column.rows()) for column in columns] == [[{"a": 1}, {"a": 2}], [{"a": "x"}], [{"a": 1}, {"a": 2}]]
    assert [column.schema.version for column in columns] == [1, 2, 1]


def test_bytes_alone_are_written_without_a_length(make_converter: Callable[..., Any], unique: str) -> None:
    converter = make_converter(CONVERTER)
    data = converter.encode(unique, Column.from_rows([b"", b"abc"], s.BYTES))
    assert [row.as_py()[5:] for row in data] == [b"", b"abc"]
    (column,) = converter.decode(unique, data)
    assert column.rows() == [b"", b"abc"]


def test_an_incompatible_schema_is_refused_in_the_registrys_words(
    make_converter: Callable[..., Any], set_compatibility: Callable[[str, str], None], unique: str
) -> None:
    converter = make_converter(CONVERTER)
    converter.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R")))
    set_compatibility(f"{unique}-value", "BACKWARD")

    with pytest.raises(RejectedRowsError) as refused:
        converter.encode(unique, Column.from_rows([{"a": "x"}, {"a": "y"}], s.struct({"a": s.STRING}, name="R")))

    assert set(refused.value.rows) == {0, 1}
    text = str(refused.value.rows[0])
    assert f"The schema is incompatible with what subject {unique}-value has" in text
    assert "error code 409" in text
    assert "needs a default or must be optional" in text


def test_without_auto_register_an_unknown_schema_is_told_with_the_fix(
    make_converter: Callable[..., Any], unique: str
) -> None:
    converter = make_converter(CONVERTER, auto_register_schemas="false")
    with pytest.raises(RejectedRowsError, match=f"Subject {unique}-value .* does not have this schema") as refused:
        converter.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R")))
    assert "auto.register.schemas=true" in str(refused.value.rows[0])


def test_a_row_that_the_latest_schema_has_no_place_for_is_told_by_field(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    latest = {"type": "record", "name": "Row", "fields": [{"name": "a", "type": "int"}]}
    peer.register_schema(f"{unique}-value", PeerSchema(json.dumps(latest), "AVRO"))
    converter = make_converter(CONVERTER, auto_register_schemas="false", use_latest_version="true")
    wider = s.struct({"a": s.INT64}, name="Row")
    with pytest.raises(RejectedRowsError, match="Field 'a': The record has int64 here, the Avro schema int"):
        converter.encode(unique, Column.from_rows([{"a": 1}], wider))
    more = s.struct({"a": s.INT32, "b": s.INT32}, name="Row")
    with pytest.raises(RejectedRowsError, match="Field 'b': The record has this field, the Avro schema has not"):
        converter.encode(unique, Column.from_rows([{"a": 1, "b": 2}], more))


def test_records_without_a_frame_or_of_an_unknown_schema_are_rejected_alone(
    make_converter: Callable[..., Any], unique: str
) -> None:
    converter = make_converter(CONVERTER)
    good = converter.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R")))[0].as_py()
    rows = [good, b'{"a":1}', b"", b"\x00\x00", good]
    with pytest.raises(RejectedRowsError) as refused:
        converter.decode(unique, pa.array(rows, pa.binary()))
    assert set(refused.value.rows) == {1, 2, 3}
    assert "Unknown magic byte: the record was not written with a schema registry, it starts with 0x7b22" in str(
        refused.value.rows[1]
    )

    rows = [good, b"\x00\x7f\xff\xff\xff\x02", good[:-1], good + b"\x00"]
    with pytest.raises(RejectedRowsError) as refused:
        converter.decode(unique, pa.array(rows, pa.binary()))
    reasons = {row: str(reason) for row, reason in refused.value.rows.items()}
    assert "has no schema with id 2147483647" in reasons[1]
    assert "the data ends too early" in reasons[2]
    assert "data is left over" in reasons[3]


@pytest.mark.chaos
def test_a_killed_registry_is_told_and_asked_again_once_it_is_back(
    make_converter: Callable[..., Any], unique: str
) -> None:
    with SchemaRegistryService() as own:
        converter = make_converter(
            CONVERTER, schema_registry_url=own.endpoint.url, max_retries="1", retries_wait_ms="10"
        )
        rows = Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R"))
        own.kill()
        with pytest.raises(RetriableError, match=r"The schema registry does not answer \(2 tries\): .*refused") as away:
            converter.encode(unique, rows)
        assert own.endpoint.url in str(away.value)
        before = own.endpoint
        assert own.start() == before
        assert requests.get(f"{before.url}/subjects", timeout=20).json() == []
        assert converter.encode(unique, rows)[0].as_py()[5:] == b"\x02"
        assert requests.get(f"{before.url}/subjects", timeout=20).json() == [f"{unique}-value"]
        own.kill()
        # What is known of the schemas stays: a registry that is away stops only rows of new ones.
        assert converter.encode(unique, rows)[0].as_py()[5:] == b"\x02"
