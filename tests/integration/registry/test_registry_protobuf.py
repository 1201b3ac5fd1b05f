"""Checks ProtobufConverter on a real registry, beside confluent-kafka's own serializer and deserializer."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema as PeerSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Column

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "convert" / "protobuf"))
from proto_codec import peer as peer_class

CONVERTER = "io.confluent.connect.protobuf.ProtobufConverter"
NEW_FORMAT = {"use.deprecated.format": False}
ROW = s.struct(
    {
        "id": s.INT64, "note": s.STRING.as_optional(), "price": s.decimal(2, precision=9), "day": s.DATE_SCHEMA,
        "at": s.TIMESTAMP_SCHEMA, "tags": s.array(s.STRING), "counts": s.map_of(s.STRING, s.INT32),
        "place": s.struct({"x": s.FLOAT64}, name="Place", optional=True),
    },
    name="shop.Row",
)  # fmt: skip
ROWS = [
    {
        "id": 2**53 + 1, "note": None, "price": Decimal("12.30"), "day": dt.date(2024, 2, 29),
        "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC), "tags": ["a", ""], "counts": {"k": -1},
        "place": None,
    },
    {
        "id": -1, "note": "", "price": Decimal("-0.01"), "day": dt.date(1, 1, 1),
        "at": dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC), "tags": [], "counts": {}, "place": {"x": -0.0},
    },
]  # fmt: skip


def _value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_both_sides_read_what_the_other_writes(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    converter = make_converter(CONVERTER, optional_for_nullables="true")
    data = converter.encode(unique, Column.from_rows([*ROWS, None], ROW))
    assert data[2].as_py() is None
    text = peer.get_latest_version(f"{unique}-value").schema.schema_str
    kind = peer_class(text, "shop.Row")

    read = ProtobufDeserializer(kind, NEW_FORMAT)
    first, second = (read(row.as_py(), _value(unique)) for row in data.slice(0, 2))
    assert (first.id, first.HasField("note"), first.counts["k"], list(first.tags)) == (2**53 + 1, False, -1, ["a", ""])
    assert (first.day.year, first.day.month, first.day.day, first.at.nanos) == (2024, 2, 29, 999_000_000)
    assert (second.HasField("note"), second.HasField("place"), first.price.scale) == (True, True, 2)

    write = ProtobufSerializer(kind, peer, NEW_FORMAT)
    rows = [write(message, _value(f"{unique}-peer")) for message in (first, second)]
    (column,) = converter.decode(f"{unique}-peer", pa.array([rows[0], None, rows[1]], pa.binary()))
    assert list(column.rows()) == [ROWS[0], None, ROWS[1]]
    assert [row[5:] for row in rows] == [row.as_py()[5:] for row in data.slice(0, 2)]


def test_nested_messages_are_told_apart_by_their_indexes(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    text = (
        'syntax = "proto3"; message Order { int32 a = 1; message Line { string b = 1; } } message Other { bool c = 1; }'
    )
    order, line, other = (peer_class(text, name) for name in ("Order", "Order.Line", "Other"))
    rows = [
        ProtobufSerializer(type(message), peer, NEW_FORMAT)(message, _value(unique))
        for message in (order(a=1), order(a=2), line(b="x"), other(c=True))
    ]
    columns = make_converter(CONVERTER).decode(unique, pa.array([*rows[:3], None, rows[3]], pa.binary()))
    assert [(column.schema.name, list(column.rows())) for column in columns] == [
        ("Order", [{"a": 1}, {"a": 2}]), ("Line", [{"b": "x"}, None]), ("Other", [{"c": True}]),
    ]  # fmt: skip


def test_references_are_followed_and_the_message_is_found_by_name(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    place = 'syntax = "proto3"; package geo; message Place { int32 x = 1; }'
    order = (
        'syntax = "proto3"; package shop; import "geo/place.proto"; message First { bool b = 1; } '
        "message Order { geo.Place at = 3; }"
    )
    peer.register_schema(f"{unique}-place", PeerSchema(place, "PROTOBUF"))
    reference = SchemaReference("geo/place.proto", f"{unique}-place", 1)
    peer.register_schema(f"{unique}-value", PeerSchema(order, "PROTOBUF", [reference]))
    converter = make_converter(CONVERTER, auto_register_schemas="false", use_latest_version="true")
    schema = s.struct({"at": s.struct({"x": s.INT32}, name="Place")}, name="shop.Order")

    data = converter.encode(unique, Column.from_rows([{"at": {"x": 3}}], schema))
    (column,) = converter.decode(unique, data)

    assert data[0].as_py()[5:] == b"\x02\x02\x1a\x02\x08\x03"
    assert (column.schema.name, list(column.rows())) == ("Order", [{"at": {"x": 3}}])


def test_an_incompatible_schema_is_refused_in_the_registrys_words(
    make_converter: Callable[..., Any], set_compatibility: Callable[[str, str], None], unique: str
) -> None:
    converter = make_converter(CONVERTER)
    converter.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R")))
    set_compatibility(f"{unique}-value", "BACKWARD")
    with pytest.raises(RejectedRowsError, match=f"incompatible with what subject {unique}-value has"):
        converter.encode(unique, Column.from_rows([{"a": "x"}], s.struct({"a": s.STRING}, name="R")))


def test_a_null_and_a_damaged_record_are_rejected_alone(make_converter: Callable[..., Any], unique: str) -> None:
    converter = make_converter(CONVERTER)
    good = converter.encode(unique, Column.from_rows([{"a": 1}], s.struct({"a": s.INT32}, name="R")))[0].as_py()
    rows = [good, good[:5] + b"\x02\x0a", good[:-1], good[:5] + b"\x7f", good]
    with pytest.raises(RejectedRowsError) as refused:
        converter.decode(unique, pa.array(rows, pa.binary()))
    reasons = {row: str(reason) for row, reason in refused.value.rows.items()}
    assert "has no message at [5]" in reasons[1]
    assert set(reasons) == {1, 3}
    with pytest.raises(RejectedRowsError, match="no message of its Protobuf schema: the data ends too early"):
        converter.decode(unique, pa.array([good, good[:-1]], pa.binary()))
