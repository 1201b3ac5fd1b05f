"""Protobuf schemas that change while records are written: confluent-kafka's serializers and ours beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema as PeerSchema
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Column
from tests.unit.convert.protobuf.proto_codec import peer as peer_class

CONVERTER = "io.confluent.connect.protobuf.ProtobufConverter"
OWN_FORMAT = {"use.deprecated.format": False}
OLD = """syntax = "proto3"; package shop;
message Extra { int32 q = 1; }
message Row {
  message Line { string text = 1; }
  enum Kind { A = 0; B = 1; }
  int64 id = 1; string gone = 2; Kind kind = 3; oneof how { int32 card = 4; string cash = 5; } Line line = 6;
  repeated int32 nums = 7; map<string, Line> lines = 11;
}"""
NEW = """syntax = "proto3"; package shop;
message Row {
  message Pad { bool b = 1; }
  message Line { string text = 1; sint64 more = 2; }
  enum Kind { A = 0; B = 1; C = 2; }
  int64 id = 1; reserved 2; Kind kind = 3; oneof how { int32 card = 4; string cash = 5; double points = 10; }
  Line line = 6; repeated int32 nums = 9; string name = 8; map<string, Line> lines = 11; Pad pad = 12;
}
message Extra { int32 q = 1; string r = 2; }"""


def _value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _line(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, **more}


OLD_ROW = {"id": 2**53 + 1, "gone": "x", "kind": "B", "cash": "c", "line": _line("l"), "nums": [1, 0],
           "lines": {"": _line("")}}  # fmt: skip
NEW_ROW = {"id": -1, "kind": "C", "points": -0.5, "line": _line("m", more=-(2**63)), "nums": [-1], "name": "\U0001f600",
           "lines": {"k": _line("v", more=0)}, "pad": {"b": True}}  # fmt: skip


def _oneof(**members: Any) -> dict[str, Any]:
    return {"card": None, "cash": None, **members}


def test_versions_of_a_message_are_read_side_by_side_and_each_is_written_for_the_other(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    kinds = {text: peer_class(text, "shop.Row") for text in (OLD, NEW)}
    write = {text: ProtobufSerializer(kind, peer, OWN_FORMAT) for text, kind in kinds.items()}
    given = [(OLD, OLD_ROW), (NEW, NEW_ROW), (OLD, OLD_ROW)]
    data = [write[text](kinds[text](**row), _value(unique)) for text, row in given]
    assert [row[5:7] for row in data] == [b"\x02\x02", b"\x00\x08", b"\x02\x02"]  # the message is another one by index
    converter = make_converter(CONVERTER, enhanced_protobuf_schema_support="true")

    columns = converter.decode(unique, pa.array(data, pa.binary()))

    rows = [row for column in columns for row in column.rows()]
    old = {k: v for k, v in OLD_ROW.items() if k != "cash"} | {"how_0": _oneof(cash="c")}
    new = {k: v for k, v in NEW_ROW.items() if k != "points"} | {"how_0": _oneof(points=-0.5)}
    assert rows == [old, new, old]
    # Written with the schema they were read with, each is read by the class of its version and by that of the other.
    for column, (text, row), bytes_given in zip(columns, given, data, strict=True):
        (written,) = converter.encode(f"{unique}-own-{len(text)}", column).to_pylist()
        for version, kind in kinds.items():
            reads = ProtobufDeserializer(kind, OWN_FORMAT)
            back = reads(written, _value(unique))
            assert back == kind.FromString(bytes_given[7 if text == OLD else 6 :])
            if version == text:
                assert MessageToDict(back) == MessageToDict(kind(**row))


def test_rows_are_written_as_the_latest_version_and_what_that_has_no_place_for_is_rejected(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    for text in (OLD, NEW):
        latest = peer.register_schema(f"{unique}-value", PeerSchema(text, "PROTOBUF"))
    converter = make_converter(
        CONVERTER, auto_register_schemas="false", use_latest_version="true", latest_compatibility_strict="false"
    )
    known = s.struct(
        {"id": s.INT64, "nums": s.array(s.INT32), "line": s.struct({"text": s.STRING}, name="Line")}, name="shop.Row"
    )
    (written,) = converter.encode(
        unique, Column.from_rows([{"id": 7, "nums": [3], "line": {"text": "t"}}], known)
    ).to_pylist()
    assert int.from_bytes(written[1:5], "big") == latest
    read = ProtobufDeserializer(peer_class(NEW, "shop.Row"), OWN_FORMAT)(written, _value(unique))
    assert (read.id, list(read.nums), read.line.text, read.name, read.line.more) == (7, [3], "t", "", 0)

    gone = s.struct({"id": s.INT64, "gone": s.STRING}, name="shop.Row")
    with pytest.raises(RejectedRowsError, match="Field 'gone': The record has this field, the message has not"):
        converter.encode(unique, Column.from_rows([{"id": 7, "gone": "x"}], gone))
    other = s.struct({"id": s.STRING}, name="shop.Row")
    with pytest.raises(RejectedRowsError, match="Field 'id': The record has string here, the message int64"):
        converter.encode(unique, Column.from_rows([{"id": "7"}], other))


@pytest.mark.parametrize(
    ("strategy", "strategy_of", "subjects"),
    [
        ("TopicRecordNameStrategy", topic_record_subject_name_strategy, "{topic}-shop.{name}"),
        ("RecordNameStrategy", record_subject_name_strategy, "shop.{name}"),
    ],
)
def test_subject_strategies_give_each_message_of_a_topic_its_own_subject_as_confluents_do(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str,
    strategy: str, strategy_of: Callable[..., str], subjects: str,
) -> None:  # fmt: skip
    converter = make_converter(
        CONVERTER, value_subject_name_strategy=f"io.confluent.kafka.serializers.subject.{strategy}"
    )
    suffix = unique.replace("-", "_")
    for name, row, schema in (("One", {"a": 1}, {"a": s.INT32}), ("Two", {"b": "x"}, {"b": s.STRING})):
        full = f"{name}_{suffix}"
        (written,) = converter.encode(
            unique, Column.from_rows([row], s.struct(schema, name=f"shop.{full}"))
        ).to_pylist()
        subject = subjects.format(topic=unique, name=full)
        registered = peer.get_latest_version(subject)
        assert registered.schema_id == int.from_bytes(written[1:5], "big")
        kind = peer_class(registered.schema.schema_str, f"shop.{full}")
        theirs = ProtobufSerializer(kind, peer, {**OWN_FORMAT, "subject.name.strategy": strategy_of})
        data = theirs(kind(**row), _value(unique))
        assert data[5:] == written[5:]
        latest = peer.get_version(subject, peer.get_versions(subject)[-1])
        assert latest.schema_id == int.from_bytes(data[1:5], "big")
        columns = converter.decode(unique, pa.array([written, data], pa.binary()))
        assert [found for column in columns for found in column.rows()] == [row, row]


def test_a_tree_passes_between_both_sides(
    make_converter: Callable[..., Any], peer: SchemaRegistryClient, unique: str
) -> None:
    text = 'syntax = "proto3"; package n; message Tree { int64 v = 1; repeated Tree kids = 2; Tree next = 3; }'
    kind = peer_class(text, "n.Tree")
    tree = kind(v=1, kids=[kind(v=2, kids=[kind()])], next=kind(v=3, next=kind(v=4)))
    data = ProtobufSerializer(kind, peer, OWN_FORMAT)(tree, _value(unique))
    converter = make_converter(CONVERTER)
    (column,) = converter.decode(unique, pa.array([data], pa.binary()))
    (written,) = converter.encode(f"{unique}-own", column).to_pylist()
    assert ProtobufDeserializer(kind, OWN_FORMAT)(written, _value(unique)) == tree
    assert written[5:] == data[5:]
