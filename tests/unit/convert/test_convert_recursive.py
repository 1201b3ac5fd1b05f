"""Converts types that hold themselves, in every format: the value inside is JSON, and JSON that is written has it in
place.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.convert.avro.model import parse_avro
from connect.convert.json.converter import JsonConverter
from connect.convert.json.read import Reading
from connect.convert.json.recursive import MAX_LEVELS
from connect.convert.json.write import Writing
from connect.convert.json_schema.from_connect import json_schema_of
from connect.convert.json_schema.settings import JsonSchemaSettings
from connect.convert.json_schema.to_connect import connect_of
from connect.convert.json_schema.values import value_decoder, value_encoder
from connect.convert.plain.config import JsonConfig
from connect.convert.protobuf.from_connect import proto_text
from connect.convert.vectors.pieces import joined
from connectors.s3.formats.json_lines import json_lines
from tests.unit.convert.avro import avro_codec
from tests.unit.convert.protobuf import proto_codec

TREE = {"type": "record", "name": "n.Tree", "fields": [
    {"name": "v", "type": "long"},
    {"name": "kids", "type": {"type": "array", "items": "n.Tree"}},
    {"name": "next", "type": ["null", "n.Tree"], "default": None},
    {"name": "by_name", "type": {"type": "map", "values": "n.Tree"}},
]}  # fmt: skip
PROTO = """syntax="proto3"; package n;
message Tree { int64 v = 1; repeated Tree kids = 2; Tree next = 3; map<string, Tree> by_name = 4; }"""
JSON_TREE = {"$ref": "#/definitions/Tree", "definitions": {"Tree": {
    "title": "n.Tree", "type": "object", "properties": {
        "v": {"type": "integer"},
        "kids": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
        "next": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/Tree"}]},
        "by_name": {"type": "object", "additionalProperties": {"$ref": "#/definitions/Tree"}, "connect.type": "map"},
    }}}}  # fmt: skip


def _tree(v: int, **members: Any) -> dict[str, Any]:
    return {"v": v, "kids": [], "next": None, "by_name": {}, **members}


TREES = [
    _tree(1),
    _tree(2, kids=[_tree(3, kids=[_tree(4)]), _tree(5)], next=_tree(6, next=_tree(7)),
          by_name={"ä\U0001f600": _tree(8)}),
    _tree(9, next=_tree(10)),
]  # fmt: skip


def _chain(levels: int) -> dict[str, Any]:
    made = _tree(0)
    for v in range(levels):
        made = _tree(v, kids=[made])
    return made


def _avro(rows: list[dict[str, Any]]) -> list[bytes]:
    parsed = fastavro.parse_schema(json.loads(json.dumps(TREE)))
    made = []
    for row in rows:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, parsed, row)
        made.append(buffer.getvalue())
    return made


def _avro_column(rows: list[dict[str, Any]]) -> Column:
    schema, array, failures = avro_codec.decoded(parse_avro(json.dumps(TREE)), _avro(rows))
    assert not failures
    return Column.from_arrow(array, schema)


def test_what_is_inside_of_an_avro_record_that_holds_itself_is_json() -> None:
    column = _avro_column(TREES)
    assert column.schema is not None
    assert column.schema.field("next") == s.recursive("n.Tree", optional=True)
    assert column.schema.field("kids") == s.array(s.recursive("n.Tree"))
    for row, tree in zip(column.rows(), TREES, strict=True):
        assert [json.loads(kid) for kid in row["kids"]] == tree["kids"]
        assert (None if row["next"] is None else json.loads(row["next"])) == tree["next"]
        assert {name: json.loads(text) for name, text in row["by_name"].items()} == tree["by_name"]


def test_a_protobuf_message_that_holds_itself_reads_as_the_same() -> None:
    tree = proto_codec.peer(PROTO, "n.Tree")
    data = [ParseDict({**row}, tree()).SerializeToString() for row in TREES]
    schema, array, failures = proto_codec.decoded(proto_codec.compiled(PROTO).first, data)
    assert not failures
    next_schema = schema.field("next")
    assert next_schema is not None
    assert (next_schema.name, next_schema.optional) == (s.RECURSIVE, True)
    for row, message in zip(Column.from_arrow(array, schema).rows(), data, strict=True):
        given = MessageToDict(tree.FromString(message), preserving_proto_field_name=True)
        inside = json.loads(row["next"]) if row["next"] is not None else None
        assert (inside or {}).get("v") == (int(given["next"]["v"]) if "next" in given else None)
        assert [json.loads(kid)["v"] for kid in row["kids"]] == [int(kid["v"]) for kid in given.get("kids", [])]


def test_it_is_written_as_the_protobuf_message_it_was_read_from() -> None:
    tree = proto_codec.peer(PROTO, "n.Tree")
    data = [ParseDict({**row}, tree()).SerializeToString(deterministic=True) for row in TREES]
    schema, array, failures = proto_codec.decoded(proto_codec.compiled(PROTO).first, data)
    assert not failures
    rows = Column.from_arrow(array, schema).rows()
    own = proto_text(schema, proto_codec.NULLABLE)
    assert "optional Tree next = 3;" in own
    assert "map<string, Tree> by_name = 4;" in own
    written = [*proto_codec.encoded(schema, rows),
               *proto_codec.encoded(schema, rows, message=proto_codec.compiled(PROTO).first)]  # fmt: skip
    assert [MessageToDict(tree.FromString(row)) for row in written] == 2 * [
        MessageToDict(tree.FromString(row)) for row in data
    ]
    assert written[: len(data)] == data


def test_a_nested_message_that_holds_the_one_around_it_is_written_as_it_was() -> None:
    text = """syntax="proto3"; message Outer { string s = 1; Inner i = 2;
    message Inner { repeated Outer o = 1; Inner i = 2; oneof k { int32 a = 3; Outer b = 4; } } }"""
    outer = proto_codec.peer(text, "Outer")
    row = {"s": "x", "i": {"o": [{"s": "y"}, {}], "i": {"a": 0}, "b": {"s": "z", "i": {"o": [{}]}}}}
    data = ParseDict(row, outer()).SerializeToString(deterministic=True)
    schema, array, failures = proto_codec.decoded(proto_codec.compiled(text).first, [data])
    assert not failures
    assert proto_codec.encoded(schema, Column.from_arrow(array, schema).rows()) == [data]


def test_a_json_schema_that_refers_to_itself_reads_as_the_same_and_is_written_as_it_was() -> None:
    schema = connect_of(JSON_TREE, {}, JsonSchemaSettings())
    texts = [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() for row in TREES]
    array = value_decoder(schema, Reading(embeds=True))(pa.array(texts, pa.binary()))
    row = array.to_pylist(maps_as_pydicts="strict")[1]
    assert json.loads(row["next"]) == TREES[1]["next"]
    assert [json.loads(kid) for kid in row["kids"]] == TREES[1]["kids"]
    written = joined(value_encoder(schema, Writing(embeds=True), is_key=False)(array)).to_pylist()
    assert [json.loads(text) for text in written] == TREES
    registered = json.loads(json.dumps(json_schema_of(schema, JsonSchemaSettings())))
    assert connect_of(registered, {}, JsonSchemaSettings()) == schema


def test_json_without_schemas_has_the_values_in_their_place_as_javas_has() -> None:
    column = _avro_column(TREES)
    plain = JsonConverter(JsonConfig.model_validate({"schemas.enable": "false"}))
    for texts in (plain.encode("t", column), json_lines(column, numeric_decimals=False)):
        assert [json.loads(text) for text in texts.to_pylist()] == TREES


@pytest.mark.parametrize("columnar", [True, False])
def test_in_an_envelope_it_is_a_text_and_comes_back(columnar: bool) -> None:
    column = _avro_column(TREES)
    given = column if columnar else Column.from_rows(column.rows(), column.schema)
    enveloped = JsonConverter(JsonConfig())
    (back,) = enveloped.decode("t", enveloped.encode("t", given))
    assert back.schema == column.schema
    assert back.rows() == column.rows()


def test_it_is_written_as_the_avro_it_was_read_from() -> None:
    column = _avro_column(TREES)
    assert column.schema is not None
    own = avro_codec.own_text(column.schema)
    kids = next(f for f in json.loads(own)["fields"] if f["name"] == "kids")
    assert kids["type"]["items"] == "Tree"
    assert avro_codec.encoded(column.schema, column.rows()) == _avro(TREES)
    assert avro_codec.encoded(column.schema, column.rows(), parse_avro(json.dumps(TREE))) == _avro(TREES)
    peer = fastavro.parse_schema(json.loads(own))
    read = [fastavro.schemaless_reader(io.BytesIO(row), peer) for row in _avro(TREES)]
    assert read == TREES


def test_records_that_hold_each_other_are_written_as_they_were() -> None:
    pair = {"type": "record", "name": "A", "fields": [
        {"name": "v", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}},
        {"name": "b", "type": ["null", {"type": "record", "name": "B", "fields": [
            {"name": "f", "type": "double"}, {"name": "a", "type": ["null", "A"]},
            {"name": "b", "type": {"type": "array", "items": "B"}}]}]},
    ]}  # fmt: skip
    row = {"v": Decimal("1.5"), "b": {"f": -0.0, "a": {"v": Decimal("-2.5"), "b": {"f": 1e300, "a": None, "b": []}},
           "b": [{"f": 0.5, "a": {"v": Decimal("0.0"), "b": None}, "b": []}]}}  # fmt: skip
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(json.loads(json.dumps(pair))), row)
    schema, array, failures = avro_codec.decoded(parse_avro(json.dumps(pair)), [buffer.getvalue()])
    assert not failures
    assert avro_codec.encoded(schema, Column.from_arrow(array, schema).rows()) == [buffer.getvalue()]


def test_a_record_of_another_name_keeps_what_is_inside_as_a_text() -> None:
    column = _avro_column(TREES)
    assert column.schema is not None
    renamed = replace(column.schema, name="n.Other")
    data = avro_codec.encoded(renamed, column.rows())
    schema, array, failures = avro_codec.decoded(parse_avro(avro_codec.own_text(renamed)), data)
    assert not failures
    assert schema == renamed
    assert Column.from_arrow(array, schema).rows() == column.rows()


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        ('{"v":2,"more":1,"kids":[],"next":null,"by_name":{}}', "it holds more than the type has a place for"),
        ('{"kids":[],"next":null,"by_name":{}}', "v"),
        ("{", "no JSON"),
    ],
)
def test_what_is_inside_and_does_not_fit_is_refused_with_what_to_do(inside: str, why: str) -> None:
    column = _avro_column(TREES[:1])
    assert column.schema is not None
    row = {**column.rows()[0], "kids": [inside]}
    with pytest.raises(SchemaError, match=r"inside of a value of its own type does not fit.*SetSchemaMetadata") as told:
        avro_codec.encoded(column.schema, [row])
    assert why in str(told.value)


def test_a_record_that_goes_too_deep_fails_alone() -> None:
    avro = parse_avro(json.dumps(TREE))
    _, array, failures = avro_codec.decoded(avro, _avro([TREES[0], _chain(MAX_LEVELS)]))
    assert not failures
    deep = json.dumps(json.loads(array.to_pylist()[1]["kids"][0]))
    assert deep.count('"v"') == MAX_LEVELS
    _, _, failures = avro_codec.decoded(avro, _avro([TREES[0], _chain(MAX_LEVELS + 1), TREES[1]]))
    assert list(failures) == [1]
    assert "100 levels" in failures[1]


def test_a_record_that_holds_itself_without_an_end_fails() -> None:
    endless = parse_avro('{"type":"record","name":"T","fields":[{"name":"next","type":"T"}]}')
    _, _, failures = avro_codec.decoded(endless, [b"", b""])
    assert sorted(failures) == [0, 1]


def test_a_row_that_is_broken_inside_fails_alone() -> None:
    good = _avro(TREES)
    _, _, failures = avro_codec.decoded(parse_avro(json.dumps(TREE)), [good[0], good[1][:-3], good[2]])
    assert list(failures) == [1]


def test_json_that_is_nested_too_deeply_is_rejected() -> None:
    schema = connect_of(JSON_TREE, {}, JsonSchemaSettings())
    text = json.dumps(_tree(1)).replace("null", '{"a":' * 990 + "1" + "}" * 990).encode()
    with pytest.raises(RejectedRowsError, match=r"nested too deeply|no JSON"):
        value_decoder(schema, Reading(embeds=True))(pa.array([text], pa.binary()))
