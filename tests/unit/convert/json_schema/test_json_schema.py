"""Makes JSON Schemas of Connect schemas and reads them back, and values through them, without a registry."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema.validators import validator_for

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.convert.json.read import Reading
from connect.convert.json.write import Writing
from connect.convert.json_schema.config import JsonSchemaConfig
from connect.convert.json_schema.converter import json_schema
from connect.convert.json_schema.from_connect import json_schema_of
from connect.convert.json_schema.settings import JsonSchemaSettings
from connect.convert.json_schema.to_connect import connect_of
from connect.convert.json_schema.values import value_decoder, value_encoder
from connect.convert.registry.client import Registered, RegistryClient
from connect.convert.registry.schema_fit import check_fits
from connect.convert.vectors.pieces import joined
from connect.testing.equality import difference
from connect.testing.strategies import TYPE_CASES, columns, schemas

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = JsonSchemaSettings()


def _registered(schema: s.Schema, **given: Any) -> dict[str, Any]:
    return json.loads(json.dumps(json_schema_of(schema, JsonSchemaSettings(**given))))


def _read(document: Any, **given: Any) -> s.Schema:
    return connect_of(document, {}, JsonSchemaSettings(**given))


def _encoded(schema: s.Schema, rows: list[Any], *, is_key: bool = False) -> list[bytes]:
    array = Column.from_rows(rows, schema).arrow()
    return joined(value_encoder(schema, Writing(), is_key=is_key)(array)).to_pylist()


def _decoded(schema: s.Schema, texts: list[bytes]) -> list[Any]:
    array = value_decoder(schema, Reading())(pa.array(texts, pa.binary()))
    return array.to_pylist(maps_as_pydicts="strict")


@FEW
@given(schemas())
def test_a_schema_comes_back_as_it_was(schema: s.Schema) -> None:
    document = _registered(schema)
    validator_for(document).check_schema(document)
    assert _read(document) == schema


@pytest.mark.thorough
@FEW
@given(columns())
def test_rows_come_back_as_they_were_and_are_valid(case: tuple[s.Schema, list[Any]]) -> None:
    schema, rows = case
    present = [row for row in rows if row is not None]
    texts = _encoded(schema, present)
    assert difference(present, _decoded(schema, texts)) is None
    validator = validator_for({})(_numbers_may_be_text(_registered(schema)))
    for text in texts:
        validator.validate(json.loads(text))


@pytest.mark.parametrize("name", TYPE_CASES)
def test_edge_values_come_back(name: str) -> None:
    case = TYPE_CASES[name]
    schema = s.struct({"v": case.schema})
    rows = [{"v": value} for value in case.values]
    assert difference(rows, _decoded(schema, _encoded(schema, rows))) is None


def test_a_schema_is_what_confluents_converter_registers() -> None:
    fields = {
        "id": s.INT64, "note": replace(s.STRING, optional=True, doc="free text"), "price": s.decimal(2),
        "at": s.TIMESTAMP_SCHEMA, "counts": s.map_of(s.STRING, s.INT8), "by": s.map_of(s.INT32, s.FLOAT64),
    }  # fmt: skip
    assert _registered(s.struct(fields, name="shop.Row")) == {
        "type": "object", "title": "shop.Row",
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
            "note": {"oneOf": [{"type": "null"}, {"type": "string", "description": "free text"}], "connect.index": 1},
            "price": {
                "type": "string", "title": "org.apache.kafka.connect.data.Decimal", "connect.version": 1,
                "connect.type": "bytes", "connect.parameters": {"scale": "2"}, "connect.index": 2,
            },
            "at": {
                "type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.version": 1,
                "connect.type": "int64", "connect.index": 3,
            },
            "counts": {
                "type": "object", "connect.type": "map", "connect.index": 4,
                "additionalProperties": {"type": "integer", "connect.type": "int8"},
            },
            "by": {
                "type": "array", "connect.type": "map", "connect.index": 5, "items": {"type": "object", "properties": {
                    "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                    "value": {"type": "number", "connect.type": "float64", "connect.index": 1},
                }},
            },
        },
    }  # fmt: skip


def test_a_map_whose_keys_are_not_text_is_an_array_of_objects() -> None:
    schema = s.struct({"m": s.map_of(s.INT32, s.STRING.as_optional())})
    texts = _encoded(schema, [{"m": {1: "x", 2: None}}])
    assert texts == [b'{"m":[{"key":1,"value":"x"},{"key":2,"value":null}]}']
    assert _decoded(schema, texts) == [{"m": {1: "x", 2: None}}]


def test_properties_of_one_place_are_all_fields() -> None:
    """A person may add a property, and `allOf` adds up schemas that Connect registered one by one."""
    added = {"new": {"type": "string"}, "b": {"type": "integer", "connect.index": 0},
             "c": {"type": "string", "connect.index": 1}}  # fmt: skip
    assert [field.name for field in _read({"type": "object", "properties": added}).fields] == ["new", "b", "c"]
    parts = [
        {"type": "object", "properties": {name: {"type": "string", "connect.index": 0}}} for name in ("id", "name")
    ]
    assert [field.name for field in _read({"allOf": parts}).fields] == ["id", "name"]


def test_defaults_doc_and_parameters_come_back() -> None:
    field = replace(s.INT32, default=7, doc="count", version=2, parameters=MappingProxyType({"unit": "m"}))
    schema = s.struct({"a": field, "b": replace(s.decimal(1), default=Decimal("1.5"))})
    assert _read(_registered(schema)) == schema


def test_schemas_that_others_wrote_are_read() -> None:
    document = {
        "title": "Order", "type": "object", "required": ["id"], "definitions": {"money": {"type": "number"}},
        "properties": {
            "id": {"type": "integer"}, "total": {"$ref": "#/definitions/money"}, "kind": {"enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}}, "flag": {"type": "boolean"},
            "both": {"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}},
                               {"properties": {"y": {"type": "integer"}}}]},
        },
    }  # fmt: skip
    schema = _read(document, optional_for_nonrequired=True)
    assert schema.name == "Order"
    assert schema.field("id") == s.INT64
    assert schema.field("total") == s.FLOAT64.as_optional()
    assert schema.field("tags") == s.array(s.STRING.as_optional(), optional=True)
    assert [f.name for f in schema.field("both").fields] == ["x", "y"]
    assert schema.field("kind").parameters["io.confluent.connect.json.Enum.b"] == "b"
    row = b'{"id":1,"tags":["a",null],"more":{"deep":[1]}}'
    assert _decoded(schema, [row])[0]["tags"] == ["a", None]


def test_a_one_of_is_a_struct_with_the_member_that_fits() -> None:
    thing = {"type": "object", "properties": {"x": {"type": "integer"}}}
    document = {"type": "object", "properties": {"u": {"oneOf": [
        {"type": "null"}, {"type": "integer"}, {"type": "string"}, thing,
    ]}}}  # fmt: skip
    schema = _read(document)
    names = [f.name for f in schema.field("u").fields]
    assert names == [f"io.confluent.connect.json.OneOf.field.{i}" for i in range(3)]
    texts = [b'{"u":5}', b'{"u":"t"}', b'{"u":{"x":1}}', b'{"u":null}']
    rows = _decoded(schema, texts)
    assert [None if row["u"] is None else [row["u"][name] for name in names] for row in rows] == [
        [5, None, None], [None, "t", None], [None, None, {"x": 1}], None,
    ]  # fmt: skip
    assert _encoded(schema, rows) == texts
    with pytest.raises(RejectedRowsError, match="fits no member of the oneOf"):
        _decoded(schema, [b'{"u":[1]}'])


def test_what_connect_has_no_type_for_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Field 'a': The JSON Schema has no type"):
        _read({"type": "object", "properties": {"a": {"description": "anything"}}})
    with pytest.raises(SchemaError, match="which there is not"):
        _read({"$ref": "gone.json"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [(b'{"a":"x"}', "INT32|int32"), (b'{"a":3000000000}', "range"), (b"{}", "null value"), (b'{"a":1}]', "JSON"),
     (b'{"a":1', "JSON"), (b"\xff", "JSON")],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_rejected_alone(text: bytes, reason: str) -> None:
    schema = s.struct({"a": s.INT32})
    with pytest.raises(RejectedRowsError, match=rf"(?i){reason}") as refused:
        _decoded(schema, [b'{"a":1}', text])
    assert set(refused.value.rows) == {1}


def test_what_a_chosen_schema_has_no_place_for_is_told_by_field() -> None:
    target = s.struct({"a": s.INT32, "b": s.struct({"c": s.STRING})})
    check_fits(s.struct({"a": s.INT8, "b": s.struct({"c": s.STRING})}), target, open_structs=False)
    for own, words in (
        (s.struct({"a": s.INT64, "b": s.struct({"c": s.STRING})}), "Field 'a': The record has int64"),
        (s.struct({"a": s.INT32, "b": s.struct({"c": s.STRING, "d": s.STRING})}), "Field 'b.d': The record has this"),
        (s.struct({"a": s.INT32}), "Field 'b': The registered schema requires"),
        (s.struct({"a": s.INT32.as_optional(), "b": s.struct({"c": s.STRING})}), "Field 'a': The record may have no"),
    ):
        with pytest.raises(SchemaError, match=words):
            check_fits(own, target, open_structs=False)


def _numbers_may_be_text(node: Any) -> Any:
    """NaN and the infinities are written as text, as Kafka's JSON converter does; JSON has no numbers for them."""
    if isinstance(node, list):
        return [_numbers_may_be_text(item) for item in node]
    if isinstance(node, dict):
        loose = {k: _numbers_may_be_text(v) for k, v in node.items()}
        return {**loose, "type": ["number", "string"]} if loose.get("type") == "number" else loose
    return node


def test_the_row_that_breaks_a_rule_is_counted_with_the_tombstones_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    latest = '{"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}}'
    monkeypatch.setattr(RegistryClient, "latest", lambda *_: Registered(latest, "JSON", schema_id=1))
    config = JsonSchemaConfig.parse({
        "schema.registry.url": "http://127.0.0.1:1", "auto.register.schemas": "false", "use.latest.version": "true",
        "json.fail.invalid.schema": "true",
    })  # fmt: skip
    values = Column.from_rows([None, {"a": 1}, {"a": -1}], s.struct({"a": s.INT64}).as_optional())
    with pytest.raises(RejectedRowsError, match="-1 is less than the minimum of 0") as bad:
        json_schema(config, is_key=False).encode("t", values)
    assert set(bad.value.rows) == {2}
