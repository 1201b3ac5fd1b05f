"""Writes a Connect schema as JsonConverter's JSON, the `schema` half of the envelope, and reads it back. Pure.

Source: JsonConverter.asJsonSchema and asConnectSchema of Kafka 4.1; member order is part of the format.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from connect.api.errors import SchemaError
from connect.api.schema import Field, Schema, Type
from connect.convert.json.java_text import json_string
from connect.convert.json.read import Reading, read_value
from connect.convert.json.text import Node
from connect.convert.json.write import Writing, write_value

_NAMES = {t: t.value for t in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES = {name: t for t, name in _NAMES.items()}


def schema_text(schema: Schema | None, writing: Writing) -> str:
    """Return the JSON of a schema exactly as Java writes it; `null` for no schema."""
    return "null" if schema is None else "{" + ",".join(_members(schema, writing)) + "}"


def _members(schema: Schema, writing: Writing) -> list[str]:
    members = [f'"type":"{_NAMES[schema.type]}"']
    if schema.keys is not None:
        members.append(f'"keys":{schema_text(schema.keys, writing)}')
    if schema.items is not None:
        name = "values" if schema.type is Type.MAP else "items"
        members.append(f'"{name}":{schema_text(schema.items, writing)}')
    if schema.type is Type.STRUCT:
        members.append('"fields":[' + ",".join(_field_text(f, writing) for f in schema.fields) + "]")
    members.append(f'"optional":{"true" if schema.optional else "false"}')
    if schema.name is not None:
        members.append(f'"name":{json_string(schema.name)}')
    if schema.version is not None:
        members.append(f'"version":{schema.version}')
    if schema.doc is not None:
        members.append(f'"doc":{json_string(schema.doc)}')
    if schema.parameters:
        inner = ",".join(f"{json_string(k)}:{json_string(v)}" for k, v in schema.parameters.items())
        members.append(f'"parameters":{{{inner}}}')
    if schema.default is not None:
        members.append(f'"default":{write_value(schema, schema.default, writing)}')
    return members


def _field_text(field: Field, writing: Writing) -> str:
    return "{" + ",".join([*_members(field.schema, writing), f'"field":{json_string(field.name)}']) + "}"


def parse_schema(node: Node, reading: Reading, path: str = "") -> Schema | None:
    """Return the schema that parsed JSON describes. SchemaError says what is wrong with it and where."""
    if node is None:
        return None
    type_name = node.get("type") if isinstance(node, dict) else None
    if not isinstance(type_name, str):
        raise SchemaError("Schema must contain 'type' field", field=path)
    if type_name not in _TYPES:
        raise SchemaError(f"Unknown schema type: {type_name}", field=path)
    schema = Schema(
        _TYPES[type_name],
        optional=node.get("optional") is True,
        name=_text(node.get("name")),
        version=_version(node.get("version")),
        doc=_text(node.get("doc")),
        parameters=_parameters(node.get("parameters"), path),
        fields=_fields(node, reading, path) if type_name == Type.STRUCT else (),
        items=_items(type_name, node, reading, path),
        keys=_required(node, "keys", "Map schema did not specify the key type", reading, path)
        if type_name == Type.MAP
        else None,
    )
    if "default" not in node:
        return schema
    default = read_value(schema, node["default"], reading)
    if default is None and not schema.optional:
        raise SchemaError("Invalid default value", field=path)
    return replace(schema, default=default)


def _items(type_name: str, node: Node, reading: Reading, path: str) -> Schema | None:
    if type_name == Type.ARRAY:
        return _required(node, "items", "Array schema did not specify the element type", reading, path)
    if type_name == Type.MAP:
        return _required(node, "values", "Map schema did not specify the value type", reading, path)
    return None


def _required(node: Node, name: str, message: str, reading: Reading, path: str) -> Schema:
    schema = parse_schema(node.get(name), reading, f"{path}.{name}".lstrip("."))
    if schema is None:
        raise SchemaError(message, field=path)
    return schema


def _fields(struct: Node, reading: Reading, path: str) -> tuple[Field, ...]:
    nodes = struct.get("fields")
    if not isinstance(nodes, list):
        raise SchemaError('Struct schema\'s "fields" argument is not an array.', field=path)
    fields = []
    for node in nodes:
        name = node.get("field") if isinstance(node, dict) else None
        if not isinstance(name, str):
            raise SchemaError("Struct schema's field name not specified properly", field=path)
        schema = parse_schema(node, reading, f"{path}.{name}".lstrip("."))
        assert schema is not None
        fields.append(Field(name, schema))
    names = [f.name for f in fields]
    if len(set(names)) != len(names):
        raise SchemaError("Cannot create field because of field name duplication", field=path)
    return tuple(fields)


def _text(node: Node) -> str | None:
    return node if isinstance(node, str) else None


def _version(node: Node) -> int | None:
    if not isinstance(node, int) or isinstance(node, bool):
        return None
    return (node + 2**31) % 2**32 - 2**31


def _parameters(node: Node, path: str) -> MappingProxyType[str, str]:
    if not isinstance(node, dict):
        return MappingProxyType({})
    if not all(isinstance(value, str) for value in node.values()):
        raise SchemaError("Schema parameters must have string values.", field=path)
    return MappingProxyType(node)
