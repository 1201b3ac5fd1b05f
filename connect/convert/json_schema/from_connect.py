"""Derives the JSON Schema of a Connect schema, as Confluent's converter registers it. Pure."""

from __future__ import annotations

import json
from typing import Any

from connect.api import schema as s
from connect.api.schema import Schema, Type
from connect.convert.json.write import Writing, writer
from connect.convert.json_schema import names as n
from connect.convert.json_schema.settings import JsonSchemaSettings

_NUMBERS = {
    Type.INT8: "integer", Type.INT16: "integer", Type.INT32: "integer", Type.INT64: "integer",
    Type.FLOAT32: "number", Type.FLOAT64: "number",
}  # fmt: skip


def json_schema_of(schema: Schema, settings: JsonSchemaSettings) -> dict[str, Any]:
    """Return the JSON Schema of a Connect schema. SchemaError when a default does not fit."""
    return _node(schema, settings, None)


def _node(
    schema: Schema, settings: JsonSchemaSettings, index: int | None, *, ignore_optional: bool = False
) -> dict[str, Any]:
    place = {} if index is None else {n.INDEX: index}
    if n.is_union(schema):
        members = [
            _node(f.schema.as_optional(False), settings, i, ignore_optional=True) for i, f in enumerate(schema.fields)
        ]
        return {"oneOf": [*([{"type": "null"}] if schema.optional else []), *members], **place}
    base = _base(schema, settings) | _annotations(schema, settings)
    if schema.optional and not ignore_optional:
        return {"oneOf": [{"type": "null"}, base], **place}
    return {**base, **place}


def _base(schema: Schema, settings: JsonSchemaSettings) -> dict[str, Any]:
    match schema.type:
        case Type.STRUCT:
            properties = {f.name: _node(f.schema, settings, i) for i, f in enumerate(schema.fields)}
            closed = {} if settings.additional_properties else {"additionalProperties": False}
            return {"type": "object", "properties": properties, **closed}
        case Type.ARRAY:
            assert schema.items is not None
            return {"type": "array", "items": _node(schema.items, settings, None)}
        case Type.MAP:
            return _map(schema, settings)
        case Type.BYTES:
            numeric = schema.name == s.DECIMAL and settings.numeric_decimals
            return {"type": "number" if numeric else "string", n.TYPE: "bytes"}
        case Type.STRING:
            return _text(schema, settings)
        case Type.BOOLEAN:
            return {"type": "boolean"}
    return {"type": _NUMBERS[schema.type], n.TYPE: schema.type.value}


def _map(schema: Schema, settings: JsonSchemaSettings) -> dict[str, Any]:
    assert schema.keys is not None
    assert schema.items is not None
    if n.is_object_map(schema):
        return {"type": "object", "additionalProperties": _node(schema.items, settings, None), n.TYPE: "map"}
    entry = {"key": _node(schema.keys, settings, 0), "value": _node(schema.items, settings, 1)}
    return {"type": "array", "items": {"type": "object", "properties": entry}, n.TYPE: "map"}


def _text(schema: Schema, settings: JsonSchemaSettings) -> dict[str, Any]:
    if schema.name == s.RECURSIVE:
        return {}  # the value stands in its place, whatever it is
    name = n.GENERALIZED_ENUM if settings.generalized_sum_types else n.ENUM
    if name not in schema.parameters:
        return {"type": "string"}
    symbols = [k.removeprefix(f"{name}.") for k in schema.parameters if k.startswith(f"{name}.")]
    return {"enum": [None if symbol == n.NULL_MARKER else symbol for symbol in symbols]}


def _annotations(schema: Schema, settings: JsonSchemaSettings) -> dict[str, Any]:
    parameters = {k: v for k, v in schema.parameters.items() if not k.startswith(n.NAMESPACE)}
    made: dict[str, Any] = {
        "title": schema.name, "description": schema.doc, n.VERSION: schema.version, n.PARAMETERS: parameters or None,
    }  # fmt: skip
    if schema.default is not None:
        text = writer(schema, Writing(settings.numeric_decimals))(schema.default)
        made["default"] = json.loads(text, parse_float=float)
    return {key: value for key, value in made.items() if value is not None}
