"""Converts values to the JSON of their schema: by columns where that is Kafka's JsonConverter's, else row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.schema import Schema, Type
from connect.convert.json.decode import decode_columns
from connect.convert.json.encode import encode_columns, may_differ_from_java
from connect.convert.json.java_text import json_string
from connect.convert.json.read import Reading, reader
from connect.convert.json.text import read_exact
from connect.convert.json.write import Writer, Writing, writer
from connect.convert.json_schema import names as n
from connect.convert.plain.columns import NotColumnarError
from connect.convert.plain.rows import each
from connect.convert.vectors.pieces import Parts


def value_encoder(schema: Schema, writing: Writing, *, is_key: bool) -> Callable[[pa.Array], Parts]:
    """Return a function that writes a column without nulls as JSON texts. SchemaError when a value does not fit."""
    plain = n.is_plain(schema) and not (is_key and may_differ_from_java(schema))
    write = _writer(schema, writing, "")

    def encode(array: pa.Array) -> Parts:
        if plain:
            try:
                return [encode_columns(array, schema, writing)]
            except NotColumnarError:
                pass
        return [pa.array(each(rows_from_arrow(array), lambda value: write(value).encode()), pa.binary())]

    return encode


def value_decoder(schema: Schema, reading: Reading) -> Callable[[pa.BinaryArray], pa.Array]:
    """Return a function that reads JSON texts without nulls as a column.

    RejectedRowsError names the texts that do not fit.
    """
    plain = n.is_plain(schema)
    read = reader(schema, reading)

    def one(row: bytes) -> Any:
        try:
            node = read_exact(row)
        except (ValueError, LookupError) as error:
            raise SchemaError(f"The record is no JSON: {error}") from None
        return read(node if plain else _as_connect(schema, node, ""))

    def decode(data: pa.BinaryArray) -> pa.Array:
        if plain:
            try:
                return decode_columns(data, schema, reading)
            except (NotColumnarError, SchemaError, RecursionError):
                pass
        return Column.from_rows(each(data.to_pylist(), one), schema).arrow()

    return decode


def _writer(schema: Schema, writing: Writing, path: str) -> Writer:
    if n.is_plain(schema):
        return writer(schema, writing, path)
    write = _odd_writer(schema, writing, path)

    def write_or_null(value: Any) -> str:
        if value is not None:
            return write(value)
        if not schema.optional:
            raise SchemaError("There is no value, and the schema requires one.", field=path)
        return "null"

    return write_or_null


def _odd_writer(schema: Schema, writing: Writing, path: str) -> Writer:
    if schema.type is Type.STRUCT:
        members = [(f.name, _writer(f.schema, writing, f"{path}.{f.name}".lstrip("."))) for f in schema.fields]
        if n.is_union(schema):
            return lambda value: _only_member(value, members, schema, path)
        return lambda value: "{" + ",".join(f"{json_string(m)}:{w(value.get(m))}" for m, w in members) + "}"
    assert schema.items is not None
    item = _writer(schema.items, writing, f"{path}[]")
    if schema.type is Type.ARRAY:
        return lambda value: "[" + ",".join(map(item, value)) + "]"
    assert schema.keys is not None
    key = _writer(schema.keys, writing, f"{path}.key")
    if n.is_object_map(schema):
        return lambda value: "{" + ",".join(f"{key(k)}:{item(v)}" for k, v in value.items()) + "}"
    return lambda value: "[" + ",".join(f'{{"key":{key(k)},"value":{item(v)}}}' for k, v in value.items()) + "]"


def _only_member(value: Mapping[str, Any], members: list[tuple[str, Writer]], schema: Schema, path: str) -> str:
    given = [(write, value[name]) for name, write in members if value.get(name) is not None]
    if len(given) > 1:
        raise SchemaError("A union has a value in more than one of its members.", field=path)
    if not given:
        if schema.optional:
            return "null"
        raise SchemaError("A union has no value, and the schema requires one.", field=path)
    write, member = given[0]
    return write(member)


def _as_connect(schema: Schema, node: Any, path: str) -> Any:
    """Return the node in the form of Kafka's JsonConverter: a union as its struct, a map's entries as pairs."""
    if node is None or n.is_plain(schema):
        return node
    match schema.type:
        case Type.STRUCT if n.is_union(schema):
            return _union(schema, node, path)
        case Type.STRUCT if isinstance(node, Mapping):
            return {f.name: _as_connect(f.schema, node.get(f.name), f"{path}.{f.name}") for f in schema.fields}
        case Type.ARRAY if isinstance(node, list):
            assert schema.items is not None
            return [_as_connect(schema.items, item, f"{path}[]") for item in node]
        case Type.MAP if n.is_object_map(schema) and isinstance(node, Mapping):
            assert schema.items is not None
            return {key: _as_connect(schema.items, item, f"{path}.value") for key, item in node.items()}
        case Type.MAP if isinstance(node, list):
            return [_pair(schema, entry, path) for entry in node]
    return node


def _pair(schema: Schema, entry: Any, path: str) -> list[Any]:
    assert schema.keys is not None
    assert schema.items is not None
    if not isinstance(entry, Mapping) or set(entry) != {"key", "value"}:
        raise SchemaError("An entry of a map is no object of `key` and `value`.", field=path.lstrip("."))
    key = _as_connect(schema.keys, entry["key"], f"{path}.key")
    return [key, _as_connect(schema.items, entry["value"], f"{path}.value")]


def _union(schema: Schema, node: Any, path: str) -> dict[str, Any]:
    """Return the value as the member whose type it has; of several objects the one with most fields in common."""
    best, most = None, 0
    for member in schema.fields:
        try:
            reader(member.schema, Reading(embeds=True))(_as_connect(member.schema, node, path))
        except SchemaError:
            continue
        common = len(set(member.schema.field_index) & set(node)) + 1 if isinstance(node, Mapping) else 1
        if common > most:
            best, most = member, common
    if best is None:
        raise SchemaError("The value fits no member of the oneOf.", field=path.lstrip("."))
    return {best.name: _as_connect(best.schema, node, path)}
