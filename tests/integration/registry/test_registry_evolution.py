"""Schemas that change while records are written: confluent-kafka's serializers and ours read each other's versions."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from confluent_kafka.schema_registry import Schema as PeerSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api.records import Column
from connect.testing.equality import difference

AVRO = "io.confluent.connect.avro.AvroConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
WIDE = Decimal("9" * 38)

OLD: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"], "default": "A"}},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "last", "type": ["int", "null"], "default": 7},
    {"name": "whole", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0}},
    {"name": "fine", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 38}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "deep", "type": {"type": "map", "values": {"type": "array", "items": [
        "null", {"type": "map", "values": "long"}]}}},
]  # fmt: skip
NEW: list[dict[str, Any]] = [
    {"name": "added", "type": "string", "default": "none"},
    {"name": "id", "type": "long"},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"], "default": "A"}},
    *OLD[2:],
    {"name": "choice", "type": ["null", "long", "string", {"type": "record", "name": "P", "fields": [
        {"name": "x", "type": "double"}]}], "default": None},
]  # fmt: skip

moments = st.datetimes().map(  # the years 1 to 9999
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=dt.UTC)
)
old_rows = st.fixed_dictionaries({
    "id": st.integers(-(2**63), 2**63 - 1), "kind": st.sampled_from("AB"), "note": st.none() | st.text(max_size=4),
    "last": st.none() | st.integers(-(2**31), 2**31 - 1),
    "whole": st.integers(-int(WIDE), int(WIDE)).map(Decimal),
    "fine": st.integers(-int(WIDE), int(WIDE)).map(lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -38))),
    "day": st.dates(), "at": moments,
    "clock": moments.map(lambda at: at.time()),
    "deep": st.dictionaries(st.text(max_size=2), st.lists(
        st.none() | st.dictionaries(st.text(max_size=2), st.integers(-9, 9), max_size=2), max_size=2), max_size=2),
})  # fmt: skip
new_only = st.fixed_dictionaries({
    "added": st.text(max_size=3), "kind": st.sampled_from("ABC"),
    "choice": st.none() | st.integers(-9, 9) | st.text(max_size=3) | st.builds(lambda x: {"x": x}, st.floats(-9, 9)),
})  # fmt: skip
FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def _value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _record(name: str, fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": fields})


def _choice(value: Any) -> dict[str, Any] | None:
    """A union of several types as the struct that Connect has for it."""
    if value is None:
        return None
    member = "P" if isinstance(value, dict) else "string" if isinstance(value, str) else "long"
    return {"long": None, "string": None, "P": None} | {member: value}


def test_versions_of_an_avro_schema_are_read_side_by_side_and_back_with_the_old_one(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    name = f"Row{unique.replace('-', '_')}"
    old_text, new_text = _record(name, OLD), _record(name, NEW)
    write = {text: AvroSerializer(peer, text, conf={"auto.register.schemas": True}) for text in (old_text, new_text)}
    read_as_old = AvroDeserializer(peer, old_text)
    converter = make_converter(AVRO)
    writer = make_converter(AVRO, enhanced_avro_schema_support="true", connect_meta_data="false")

    @FEW
    @given(old=old_rows, new=st.tuples(old_rows, new_only).map(lambda parts: parts[0] | parts[1]))
    def check(old: dict[str, Any], new: dict[str, Any]) -> None:
        data = [write[text](row, _value(unique)) for text, row in ((old_text, old), (new_text, new), (old_text, old))]
        columns = converter.decode(unique, pa.array(data, pa.binary()))
        assert [len(column) for column in columns] == [1, 1, 1]
        rows = [row for column in columns for row in column.rows()]
        assert difference([old, {**new, "choice": _choice(new["choice"])}, old], rows) is None
        # What is written here with the new schema is read with the old one, where its enum has the symbol.
        (enhanced,) = writer.decode(unique, pa.array(data[1:2], pa.binary()))
        (written,) = writer.encode(f"{unique}-own", enhanced).to_pylist()
        kept = {field["name"]: new[field["name"]] for field in OLD} | {
            "kind": new["kind"] if new["kind"] != "C" else "A"
        }
        assert difference([kept], [read_as_old(written, _value(f"{unique}-own"))]) is None

    check()
    versions = [schema.schema.schema_str for schema in map(peer.get_latest_version, [f"{unique}-value"])]
    assert '"choice"' in versions[0]


def test_a_reference_that_gets_a_new_version_is_read_in_each(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    converter = make_converter(AVRO)
    part, data, rows = f"Part{unique.replace('-', '_')}", [], []
    for version, more in enumerate(([], [{"name": "y", "type": ["null", "int"], "default": None}]), start=1):
        text = _record(part, [{"name": "x", "type": "int"}, *more])
        peer.register_schema(f"{unique}-part", PeerSchema(text, "AVRO"))
        whole = PeerSchema(
            _record(f"{part}Whole", [{"name": "parts", "type": {"type": "array", "items": f"shop.{part}"}},
                                     {"name": f"v{version}", "type": ["null", "int"], "default": None}]),
            "AVRO", [SchemaReference(f"shop.{part}", f"{unique}-part", version)],
        )  # fmt: skip
        row = {"parts": [{"x": 1} | ({"y": 5} if more else {})], f"v{version}": version}
        data.append(AvroSerializer(peer, whole)(row, _value(unique)))
        rows.append(row)
    columns = converter.decode(unique, pa.array(data, pa.binary()))
    assert [column.rows()[0] for column in columns] == rows


def test_a_tree_that_confluents_serializer_writes_is_read(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    name = f"Tree{unique.replace('-', '_')}"
    text = _record(name, [{"name": "v", "type": "int"},
                          {"name": "kids", "type": {"type": "array", "items": f"shop.{name}"}}])  # fmt: skip
    tree = {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3, "kids": []}]}]}
    (column,) = make_converter(AVRO).decode(unique, pa.array([AvroSerializer(peer, text)(tree, _value(unique))]))
    (row,) = column.rows()
    assert row["v"] == 1
    assert [json.loads(kid) for kid in row["kids"]] == tree["kids"]


def test_versions_of_a_json_schema_are_read_side_by_side(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    old = {"type": "object", "title": "Row", "properties": {"a": {"type": "integer"}}}
    new = {"type": "object", "title": "Row", "properties": {
        "a": {"type": "integer"}, "kind": {"enum": ["x", "y"]}, "deep": {"type": "array", "items": {
            "type": "object", "connect.type": "map", "additionalProperties": {"oneOf": [
                {"type": "null"}, {"type": "number"}]}}}}}  # fmt: skip
    converter = make_converter(JSON_SCHEMA)
    rows = [{"a": 1}, {"a": 2**53 + 1, "kind": "y", "deep": [{"k": None, "l": -0.5}, {}]}]
    data = [
        JSONSerializer(json.dumps(schema), peer)(row, _value(unique))
        for schema, row in zip((old, new), rows, strict=True)
    ]
    columns = converter.decode(unique, pa.array(data, pa.binary()))
    assert [column.rows()[0] for column in columns] == rows
    written = make_converter(JSON_SCHEMA).encode(f"{unique}-own", Column.from_rows(rows[1:], columns[1].schema))
    assert JSONDeserializer(json.dumps(new))(written[0].as_py(), _value(f"{unique}-own")) == rows[1]
