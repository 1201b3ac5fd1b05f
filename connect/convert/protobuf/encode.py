"""Encodes Arrow columns as Protobuf's wire format, one message per row.

An encoder is built once per pair of schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.avro.names import scrubbed
from connect.convert.json.recursive_write import RecursiveValues
from connect.convert.protobuf import logical
from connect.convert.protobuf import names as n
from connect.convert.protobuf.model import ProtoField, ProtoMessage
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of, is_map
from connect.convert.vectors import pieces as p
from connect.convert.vectors.wire import TakesKind, key_of, scalar_pieces, sized, zero_mask

Encoder = Callable[[pa.Array], pa.BinaryArray]
"""Encodes structs without nulls to the bytes of their messages.

SchemaError for a value that Protobuf has no place for.
"""
FieldEncoder = Callable[[pa.Array], p.Parts]
"""Encodes a column, nulls included, to the parts of its field; nothing where there is no value."""

_TAKES: Final[Mapping[Type, TakesKind]] = {
    Type.INT8: ("int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64"),
    Type.INT16: ("int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64"),
    Type.INT32: ("int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64", "enum"),
    Type.INT64: ("int64", "uint64", "sint64", "fixed64", "sfixed64", "uint32", "fixed32"),
    Type.FLOAT32: ("float", "double"), Type.FLOAT64: ("double",), Type.BOOLEAN: ("bool",),
    Type.STRING: ("string", "enum"), Type.BYTES: ("bytes",),
}  # fmt: skip
_LOGICAL: Final[Mapping[str, Callable[[pa.Array], list[pa.Array]]]] = {
    n.DECIMAL: logical.decimal_columns, n.DATE: logical.date_columns, n.TIME: logical.time_columns,
    n.TIMESTAMP: logical.timestamp_columns,
}  # fmt: skip

_NULL_FIX: Final = "Set optional.for.nullables=true, or converter.coercion=java to lose the null."


def encoder(schema: Schema, message: ProtoMessage, settings: ProtobufSettings) -> Encoder:
    """Return a function that writes structs as a message.

    SchemaError, with the field's path, when schema and message do not go together.
    """
    return _Plan(settings).message(schema, message, "")


class _Plan:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings

    def message(self, schema: Schema, message: ProtoMessage, path: str) -> Encoder:
        if schema.type is not Type.STRUCT:
            raise SchemaError(f"The record has {schema.name or schema.type} here, Protobuf a message.", field=path)
        fields = {f.name: f for f in message.fields}
        steps: list[tuple[int, tuple[int, ...], FieldEncoder]] = []
        unions: list[tuple[int, str]] = []
        for index, member in enumerate(schema.fields):
            below = f"{path}.{member.name}".lstrip(".")
            if n.is_union(member.schema):
                steps += self._union(member.schema, index, fields, below)
                unions.append((index, below))
                continue
            field = self._found(fields, member.name, below)
            steps.append((field.number, (index,), self.field(member.schema, field, below)))
        missing = next((f for f in fields.values() if f.required), None)
        if missing is not None:
            raise SchemaError("The message requires this field, the record has it not.", field=missing.name)
        # By number, as other writers do: the same row then has the same bytes everywhere.
        steps.sort(key=lambda step: step[0])

        def encode(array: pa.Array) -> pa.BinaryArray:
            for index, below in unions:
                _require_one(array.flatten()[index], below)
            parts: p.Parts = []
            for _, where, write in steps:
                parts += write(_child(array, where))
            if any(isinstance(part, pa.Array) for part in parts):
                return p.joined(parts)
            return p.constant(b"".join(part.as_py() for part in parts), len(array))

        return encode

    def _found(self, fields: dict[str, ProtoField], name: str, path: str) -> ProtoField:
        field = fields.pop(scrubbed(name) if self._settings.scrub_invalid_names else name, None)
        if field is None:
            raise SchemaError("The record has this field, the message has not.", field=path)
        return field

    def _union(
        self, schema: Schema, index: int, fields: dict[str, ProtoField], path: str
    ) -> list[tuple[int, tuple[int, ...], FieldEncoder]]:
        steps: list[tuple[int, tuple[int, ...], FieldEncoder]] = []
        for place, member in enumerate(schema.fields):
            field = self._found(fields, member.name, f"{path}.{member.name}")
            write = self.field(replace(member.schema, optional=True, default=None), field, f"{path}.{member.name}")
            steps.append((field.number, (index, place), write))
        return steps

    def field(self, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        if is_map(field):
            return self._filled_or_refused(self._map(schema, field, path), schema, field, path)
        if field.repeated:
            return self._filled_or_refused(self._list(schema, field, path), schema, field, path)
        return self._filled_or_refused(self._single(schema, field, path), schema, field, path)

    def _filled_or_refused(self, write: FieldEncoder, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        """Return an encoder that puts defaults in the place of nulls.

        A null that could not be told from a value when it is read is an error.
        """
        settings = self._settings
        default = None if schema.optional and settings.ignore_default_for_nullables else schema.default
        allowed = schema.optional and (field.presence or settings.java)
        what = "an empty list" if field.repeated else "a zero or an empty value"
        fix = None if field.repeated else _NULL_FIX

        def check(array: pa.Array) -> p.Parts:
            if not array.null_count:
                return write(array)
            if default is not None:
                both = pa.concat_arrays([array, pa.array([default], array.type)])
                places = np.where(array.is_null().to_numpy(zero_copy_only=False), len(array), np.arange(len(array)))
                return write(both.take(pa.array(places)))
            if not schema.optional:
                raise SchemaError("There is no value, and the schema requires one.", field=path)
            if not allowed:
                raise SchemaError(f"Protobuf cannot tell this null from {what}.", field=path, fix=fix)
            return write(array)

        return check

    def _single(self, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        value = self._value(schema, field, path)
        key = pa.scalar(key_of(field), pa.binary())
        numbered = _enum_numbers(schema, field, self._settings, path)

        def encode(array: pa.Array) -> p.Parts:
            array = numbered(array)
            omitted = None if field.presence else zero_mask(array)
            if omitted is not None and not pc.any(omitted).as_py():
                omitted = None
            if not array.null_count and omitted is None:
                return [key, *value(array)]
            if not array.null_count and field.kind != "message":
                return [pc.if_else(omitted, pa.scalar(b""), p.joined([key, *value(array)]))]
            kept = array.is_valid() if omitted is None else pc.and_(array.is_valid(), pc.invert(omitted))
            kept = pc.fill_null(kept, False)
            present = array.filter(kept)
            if not len(present):
                return [pa.scalar(b"")]
            return [p.scattered(kept, p.joined([key, *value(present)]), b"")]

        return encode

    def _value(self, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        """Return a function that gives the parts of values without nulls, which come after the key."""
        if field.kind == "message":
            return _sized(self._message_value(schema, field, path))
        if field.kind not in _TAKES.get(schema.type, ()) or schema.name in n.LOGICAL:
            raise _mismatch(schema, field, path)
        return scalar_pieces(field.kind, path)

    def _message_value(self, schema: Schema, field: ProtoField, path: str) -> Encoder:
        message = field.message
        assert message is not None
        if message.name in _LOGICAL:
            if n.LOGICAL.get(schema.name or "") != message.name:
                raise _mismatch(schema, field, path)
            return _logical(message, self._settings)
        if message.name in n.WRAPPED and schema.type is not Type.STRUCT:
            inner = message.fields[0]
            write = self._single(schema.as_optional(False), inner, path)
            return lambda array: _as_array(write(array), len(array))
        if schema.name == s.RECURSIVE:
            return _recursive(message, self._settings, path)
        return self.message(schema.as_optional(False), message, path)

    def _list(self, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        if schema.type is not Type.ARRAY or schema.items is None:
            raise _mismatch(schema, field, path)
        value = self._value(schema.items.as_optional(False), field, f"{path}[]")
        key = pa.scalar(key_of(field), pa.binary())
        numbered = _enum_numbers(schema.items, field, self._settings, f"{path}[]")

        def encode(array: pa.Array) -> p.Parts:
            lists = pc.fill_null(array, pa.scalar([], array.type)) if array.null_count else array
            items = numbered(lists.flatten())
            if items.null_count:
                raise SchemaError("Protobuf has no null in a list.", field=f"{path}[]")
            if not len(items):
                return [pa.scalar(b"")]
            if not field.packed:
                return [p.concatenated_per_list(lists, p.joined([key, *value(items)]))]
            content = p.concatenated_per_list(lists, _as_array(value(items), len(items)))
            filled = p.joined([pa.scalar(key_of(field, packed=True)), *sized(content)])
            return [pc.if_else(pa.array(p.list_lengths(lists) > 0), filled, pa.scalar(b""))]

        return encode

    def _map(self, schema: Schema, field: ProtoField, path: str) -> FieldEncoder:
        assert field.message is not None
        if schema.type is not Type.MAP or schema.keys is None or schema.items is None:
            raise _mismatch(schema, field, path)
        key_field, value_field = field.message.entry()
        if field.message.is_map_entry:
            # An entry of `map<…>` holds its key and its value even where they are zero.
            key_field, value_field = replace(key_field, presence=True), replace(value_field, presence=True)
        keys = self._single(schema.keys.as_optional(False), key_field, f"{path}.key")
        values = self._single(schema.items.as_optional(False), value_field, f"{path}.value")
        tag = pa.scalar(key_of(field), pa.binary())

        def encode(array: pa.Array) -> p.Parts:
            filled = _without_null_maps(array)
            entry_keys, items = p.map_entries(filled)
            if items.null_count:
                raise SchemaError("Protobuf has no null in a map.", field=f"{path}.value")
            if not len(items):
                return [pa.scalar(b"")]
            entries = _as_array([*keys(entry_keys), *values(items)], len(items))
            return [p.concatenated_per_list(filled, p.joined([tag, *sized(entries)]))]

        return encode


@lru_cache(maxsize=64)
def _recursive(message: ProtoMessage, settings: ProtobufSettings, path: str) -> Encoder:
    """Return the encoder of a message as it is inside of itself; there is one for each message."""

    def make() -> tuple[Schema, Encoder]:
        own = connect_of(message, settings)
        return own, encoder(own, message, settings)

    return RecursiveValues(make, pa.array([], pa.binary()), path)


def _require_one(union: pa.StructArray, path: str) -> None:
    """Raise SchemaError if a union has several values: readers drop all but the last of a oneof."""
    given = np.zeros(len(union), np.int64)
    for member in union.flatten():
        given += member.is_valid().to_numpy(zero_copy_only=False)
    if (given > 1).any():
        raise SchemaError("A union has a value in more than one of its members.", field=path)


def _child(array: pa.StructArray, where: tuple[int, ...]) -> pa.Array:
    for index in where:
        array = array.flatten()[index]
    return array


def _without_null_maps(array: pa.MapArray) -> pa.MapArray:
    if not array.null_count:
        return array
    counts = np.where(array.is_valid().to_numpy(zero_copy_only=False), p.list_lengths(array), 0)
    present = array.drop_null()
    keys, items = p.map_entries(present) if len(present) else (array.keys.slice(0, 0), array.items.slice(0, 0))
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items, type=array.type)


def _sized(encode: Encoder) -> FieldEncoder:
    return lambda array: sized(encode(array))


def _as_array(parts: p.Parts, length: int) -> pa.BinaryArray:
    if any(isinstance(part, pa.Array) for part in parts):
        return p.joined(parts)
    return p.constant(b"".join(part.as_py() for part in parts), length)


def _logical(message: ProtoMessage, settings: ProtobufSettings) -> Encoder:
    split = _LOGICAL[message.name]
    plan = _Plan(settings)
    fields = [plan._single(_plain(f), f, f.name) for f in message.fields]  # noqa: SLF001 - the same class

    def encode(array: pa.Array) -> pa.BinaryArray:
        parts = [part for write, column in zip(fields, split(array), strict=True) for part in write(column)]
        return _as_array(parts, len(array))

    return encode


def _plain(field: ProtoField) -> Schema:
    return s.BYTES if field.kind == "bytes" else s.INT64 if field.kind in {"int64", "uint32"} else s.INT32


def _enum_numbers(
    schema: Schema, field: ProtoField, settings: ProtobufSettings, path: str
) -> Callable[[pa.Array], pa.Array]:
    """Return a function that gives the numbers of an enum's symbols; any other column stays as it is."""
    enum = field.enum
    if enum is None or schema.type is not Type.STRING:
        return lambda array: array
    # A symbol may have been renamed since: the parameters that it was read with say its number too.
    prefix = f"{settings.enum_parameter}."
    known = {k.removeprefix(prefix): int(v) for k, v in schema.parameters.items() if k.startswith(prefix)}
    known = {**known, **enum.symbols}
    symbols, values = pa.array(list(known), pa.utf8()), pa.array(list(known.values()), pa.int32())

    def numbers(array: pa.Array) -> pa.Array:
        places = pc.index_in(array, symbols, skip_nulls=True)
        if places.null_count > array.null_count:
            unknown = pc.and_(places.is_null(), array.is_valid())
            wrong = array.filter(unknown)[0].as_py()
            raise SchemaError(f"{wrong!r:.60} is no symbol of the enum {enum.name}.", field=path)
        return values.take(places)

    return numbers


def _mismatch(schema: Schema, field: ProtoField, path: str) -> SchemaError:
    what = field.message.name if field.message is not None else field.kind
    return SchemaError(
        f"The record has {schema.name or schema.type} here, the message {'repeated ' if field.repeated else ''}{what}.",
        field=path, fix="Cast the field, or register a schema that fits.",
    )  # fmt: skip
