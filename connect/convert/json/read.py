"""Reads parsed JSON as Connect values in Python form, row by row. Pure.

Strict: a value that does not fit its schema is a SchemaError. Java: it becomes what JsonConverter of Kafka 4.1 makes of
it (Jackson's lenient `JsonNode` getters: "abc" read as an int32 is 0, 300 read as an int8 is 44).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.json import jackson
from connect.convert.json.logical_reading import Reader, decimal_reader, instant_reader, mismatch, node_type, read_bytes
from connect.convert.json.recursive import node_text
from connect.convert.json.text import Node

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Reading:
    """Tells how values are read. `embeds`: what `schema.recursive` holds stands in its place, and not as a text."""

    replace_null_with_default: bool = True
    java: bool = False
    embeds: bool = False


def read_value(schema: Schema | None, node: Node, reading: Reading) -> Any:
    """Return one value read from its JSON. SchemaError names the field that does not fit."""
    return reader(schema, reading)(node)


def reader(schema: Schema | None, reading: Reading, path: str = "") -> Reader:
    """Return a function that reads values of this schema; build it once per schema."""
    if schema is None:
        return jackson.schemaless if reading.java else _strict_schemaless
    read = _typed(schema, reading, path)
    default = schema.default if reading.replace_null_with_default else None

    def read_or_null(node: Node) -> Any:
        if node is not None:
            return read(node)
        if default is not None:
            return default
        if schema.optional:
            return None
        raise SchemaError(f"Invalid null value for required {_name(schema.type)} field", field=path)

    return read_or_null


def _name(kind: str) -> str:
    return kind.upper()


def _typed(schema: Schema, reading: Reading, path: str) -> Reader:
    match schema.name:
        case s.DECIMAL:
            return decimal_reader(schema, path, java=reading.java)
        case s.DATE | s.TIME | s.TIMESTAMP:
            return instant_reader(schema.name, path, java=reading.java)
        case s.RECURSIVE if reading.embeds:
            return lambda node: node_text(node, path)
    match schema.type:
        case Type.STRUCT:
            return _struct_reader(schema, reading, path)
        case Type.MAP:
            return _map_reader(schema, reading, path)
        case Type.ARRAY:
            return _array_reader(schema, reading, path)
        case Type.BYTES:
            return lambda node: read_bytes(node, path, java=reading.java)
    if reading.java:
        return jackson.GETTERS[schema.type]
    return lambda node: _strict(schema.type, node, path)


def _strict(kind: Type, node: Node, path: str) -> Any:
    match kind:
        case Type.BOOLEAN if type(node) is bool:
            return node
        case Type.STRING if type(node) is str:
            return node
        case Type.FLOAT32 | Type.FLOAT64:
            return _strict_float(kind, node, path)
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if type(node) is int:
            if not -(2 ** (_BITS[kind] - 1)) <= node < 2 ** (_BITS[kind] - 1):
                raise SchemaError(f"{node} is out of range for {kind}.", field=path)
            return node
    raise mismatch(kind, node, path)


def _strict_float(kind: Type, node: Node, path: str) -> float:
    if type(node) is str and node in _NON_FINITE:
        return _NON_FINITE[node]
    if type(node) not in {int, float, Decimal}:
        raise mismatch(kind, node, path)
    try:
        number = float(node)
        number = jackson.to_float32(number) if kind is Type.FLOAT32 else number
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise SchemaError(f"{node} is out of range for {kind}.", field=path)
    return number


def _struct_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    fields = [(f.name, f.schema, reader(f.schema, reading, f"{path}.{f.name}".lstrip("."))) for f in schema.fields]

    def read(node: Node) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise SchemaError(f"Structs should be encoded as JSON objects, but found {node_type(node)}", field=path)
        value = {name: read_field(node.get(name)) for name, _, read_field in fields}
        if reading.java:
            for name, field_schema, _ in fields:
                _require(field_schema, value[name], f"{path}.{name}".lstrip("."))
        return value

    return read


def _require(schema: Schema, value: Any, path: str) -> None:
    """Check what Struct.put checks: coercion may have made a null where none is allowed."""
    if value is None:
        if not schema.optional:
            raise SchemaError("Invalid value: null used for required field", field=path)
    elif schema.type is Type.ARRAY and schema.items is not None:
        for item in value:
            _require(schema.items, item, f"{path}[]")
    elif schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
        for key, item in value.items():
            _require(schema.keys, key, f"{path}.key")
            _require(schema.items, item, f"{path}.value")


def _array_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    item = reader(schema.items, reading, f"{path}[]")

    def read(node: Node) -> list[Any]:
        if not isinstance(node, list):
            if not reading.java:
                raise mismatch("array", node, path)
            node = list(node.values()) if isinstance(node, dict) else []
        return [item(n) for n in node]

    return read


def _map_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    assert schema.keys is not None
    key, item = reader(schema.keys, reading, f"{path}.key"), reader(schema.items, reading, f"{path}.value")

    def read_object(node: Node) -> dict[Any, Any]:
        if not isinstance(node, dict):
            message = f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
            raise SchemaError(message, field=path)
        return {name: item(n) for name, n in node.items()}

    def read_pairs(node: Node) -> dict[Any, Any]:
        if not isinstance(node, list):
            message = (
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {node_type(node)}"
            )
            raise SchemaError(message, field=path)
        try:
            return {key(k): item(n) for k, n in _pairs(node, path)}
        except TypeError as error:
            raise SchemaError(f"A map key has no Python form: {error}", field=path) from None

    return read_object if schema.keys.type is Type.STRING else read_pairs


def _pairs(nodes: Iterable[Node], path: str) -> Iterable[tuple[Node, Node]]:
    for node in nodes:
        if not isinstance(node, list):
            raise SchemaError(f"Found invalid map entry instead of array tuple: {node_type(node)}", field=path)
        if len(node) != 2:
            raise SchemaError(f"Found invalid map entry, expected length 2 but found :{len(node)}", field=path)
        yield node[0], node[1]


def _strict_schemaless(node: Node) -> Any:
    match node:
        case Decimal():
            return _strict_float(Type.FLOAT64, node, "")
        case list():
            return [_strict_schemaless(n) for n in node]
        case dict():
            return {name: _strict_schemaless(n) for name, n in node.items()}
    return node
