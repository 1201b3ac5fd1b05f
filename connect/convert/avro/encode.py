"""Encodes Arrow columns as Avro's binary format, one record per row. An encoder is built once per pair of schemas."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.avro import names as n
from connect.convert.avro.default_bytes import default_bytes
from connect.convert.avro.from_connect import is_union
from connect.convert.avro.model import MISSING, AvroType
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of
from connect.convert.json.recursive_write import RecursiveValues
from connect.convert.plain.columns import unscaled_of
from connect.convert.vectors import pieces as p

Encoder = Callable[[pa.Array], p.Parts]
"""Makes the bytes of every row of an array of `arrow_type(schema)`. SchemaError: a value does not fit."""

_TAKES: Final = {
    Type.INT8: ("int", "long", "float", "double"), Type.INT16: ("int", "long", "float", "double"),
    Type.INT32: ("int", "long", "double"), Type.INT64: ("long",), Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",), Type.BOOLEAN: ("boolean",), Type.STRING: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed"),
}  # fmt: skip
"""Holds for each Connect type the Avro types that take all its values."""


def encoder(schema: Schema, avro: AvroType, settings: AvroSettings) -> Encoder:
    """Return an encoder of arrays without nulls at the top.

    SchemaError, with the field's path, when the two types do not go together.
    """
    return _Plan(settings).encoder(schema.as_optional(False) if avro.kind != "union" else schema, avro, "")


def encode_raw_bytes(schema: Schema) -> Encoder:
    """Return an encoder that writes bytes as they are, without their length.

    SchemaError when the schema is not one of bytes.
    """
    if schema.type is not Type.BYTES:
        raise _mismatch(schema, AvroType("bytes"), "")
    return lambda array: [unscaled_of(array) if schema.name == s.DECIMAL else array]


class _Plan:
    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings

    def encoder(self, schema: Schema, avro: AvroType, path: str) -> Encoder:
        if avro.kind == "union":
            return self._union(schema, avro, path)
        value = self._value(schema, avro, path)
        default = schema.default
        if default is None and not schema.optional:
            return _required(value, path)
        if default is None or (schema.optional and self._settings.ignore_default_for_nullables):
            return _required(value, path, f"the Avro type {avro.kind} takes no null")
        return _required(_with_default(value, schema), path)

    def _value(self, schema: Schema, avro: AvroType, path: str) -> Encoder:
        if schema.name == s.RECURSIVE and avro.kind == "record":
            return _recursive(avro, self._settings, path)
        match schema.type:
            case Type.STRUCT if avro.kind == "record":
                return self._record(schema, avro, path)
            case Type.ARRAY if avro.kind == "array":
                assert schema.items is not None
                return _lists(self.encoder(schema.items, avro.member, f"{path}[]"))
            case Type.MAP if avro.kind in {"map", "array"}:
                return self._map(schema, avro, path)
        if avro.kind not in _TAKES.get(schema.type, ()) or not _same_logical(schema, avro):
            raise _mismatch(schema, avro, path)
        return _leaf(schema, avro, path)

    def _record(self, schema: Schema, avro: AvroType, path: str) -> Encoder:
        by_name = {
            n.scrubbed(f.name) if self._settings.scrub_invalid_names else f.name: i for i, f in enumerate(schema.fields)
        }
        steps: list[tuple[int, Encoder] | pa.Scalar] = []
        for member in avro.fields:
            index = by_name.pop(member.name, None)
            below = f"{path}.{member.name}".lstrip(".")
            if index is not None:
                steps.append((index, self.encoder(schema.fields[index].schema, member.type, below)))
            elif member.default is not MISSING:
                steps.append(pa.scalar(default_bytes(member.type, member.default, below), pa.binary()))
            else:
                raise SchemaError("The Avro schema requires this field, and the record does not have it.", field=below)
        if by_name:
            raise SchemaError(
                "The record has this field, the Avro schema has not.", field=f"{path}.{min(by_name)}".lstrip(".")
            )

        def encode(array: pa.Array) -> p.Parts:
            children = array.flatten()
            parts: p.Parts = []
            for step in steps:
                parts += [step] if isinstance(step, pa.Scalar) else step[1](children[step[0]])
            return parts

        return encode

    def _map(self, schema: Schema, avro: AvroType, path: str) -> Encoder:
        assert schema.keys is not None
        assert schema.items is not None
        if avro.kind == "map":
            if schema.keys.type is not Type.STRING:
                raise _mismatch(schema, avro, path)
            key: Encoder = _strings
            value = self.encoder(schema.items, avro.member, f"{path}.value")
        else:
            members = {member.name: member.type for member in avro.member.fields}
            if set(members) != {"key", "value"}:
                raise _mismatch(schema, avro, path)
            key = self.encoder(schema.keys, members["key"], f"{path}.key")
            value = self.encoder(schema.items, members["value"], f"{path}.value")

        def encode(array: pa.Array) -> p.Parts:
            keys, items = p.map_entries(array)
            return _blocks(array, [*key(keys), *value(items)])

        return encode

    def _union(self, schema: Schema, avro: AvroType, path: str) -> Encoder:
        null = next((i for i, branch in enumerate(avro.branches) if branch.kind == "null"), None)
        others = [(i, branch) for i, branch in enumerate(avro.branches) if branch.kind != "null"]
        if is_union(schema):
            return self._struct_union(schema, null, others, path)
        index, encode = self._first_fit(schema, others, path)
        tag = _tag(index)
        default = schema.default
        if default is not None and not (schema.optional and self._settings.ignore_default_for_nullables):
            return lambda array: [pa.scalar(tag), *encode(_filled(array, schema))]
        if null is None:
            return lambda array: [pa.scalar(tag), *_required(encode, path)(array)]
        nothing = _tag(null)

        def encode_nullable(array: pa.Array) -> p.Parts:
            if not array.null_count:
                return [pa.scalar(tag), *encode(array)]
            valid = array.is_valid()
            present = array.filter(valid)
            if not len(present):
                return [pa.scalar(nothing)]
            return [
                p.scattered(valid, p.joined([pa.scalar(tag), *p.with_array(encode(present), len(present))]), nothing)
            ]

        return encode_nullable

    def _first_fit(self, schema: Schema, branches: list[tuple[int, AvroType]], path: str) -> tuple[int, Encoder]:
        """Return index and encoder of the branch of the same type and name.

        Where there is none, it is the first branch that takes the values.
        """
        named = [(i, b) for i, b in branches if b.name and b.name == schema.name]
        failure: SchemaError | None = None
        for index, branch in [*named, *branches]:
            try:
                return index, self._value(schema, branch, path)
            except SchemaError as error:
                failure = failure or error
        raise failure or SchemaError("The Avro schema has nothing but null here.", field=path)

    def _struct_union(
        self, schema: Schema, null: int | None, branches: list[tuple[int, AvroType]], path: str
    ) -> Encoder:
        if len(branches) != len(schema.fields):
            raise SchemaError(
                f"The union has {len(schema.fields)} members, the Avro schema {len(branches)} branches.", field=path
            )
        steps = [
            (i, self._value(f.schema, branch, f"{path}.{f.name}".lstrip(".")))
            for f, (i, branch) in zip(schema.fields, branches, strict=True)
        ]

        def encode(array: pa.Array) -> p.Parts:
            children = array.flatten()
            given = sum((child.is_valid().to_numpy(zero_copy_only=False).astype(np.int8) for child in children), 0)
            _check_union(np.asarray(given), null, path)
            pieces = p.constant(b"" if null is None else _tag(null), len(array))
            for (index, write), child in zip(steps, children, strict=True):
                valid = child.is_valid()
                present = child.filter(valid)
                if len(present):
                    written = p.joined([pa.scalar(_tag(index)), *p.with_array(write(present), len(present))])
                    pieces = pc.replace_with_mask(pieces, valid, written)
            return [pieces]

        return encode


@lru_cache(maxsize=64)
def _recursive(avro: AvroType, settings: AvroSettings, path: str) -> Encoder:
    """Return the encoder of a type as it is inside of itself; there is one for each type."""

    def make() -> tuple[Schema, Encoder]:
        own = connect_of(avro, settings)
        return own, encoder(own, avro, settings)

    return RecursiveValues(make, [pa.array([], pa.binary())], path)


def _check_union(given: Any, null: int | None, path: str) -> None:
    if (given > 1).any():
        raise SchemaError("A union has a value in more than one of its members.", field=path)
    if null is None and (given == 0).any():
        raise SchemaError("A union has no value, and the schema requires one.", field=path)


def _required(encode: Encoder, path: str, why: str = "the schema requires a value") -> Encoder:
    def check(array: pa.Array) -> p.Parts:
        if array.null_count:
            raise SchemaError(f"There is no value, and {why}.", field=path)
        return encode(array)

    return check


def _with_default(encode: Encoder, schema: Schema) -> Encoder:
    return lambda array: encode(_filled(array, schema))


def _filled(array: pa.Array, schema: Schema) -> pa.Array:
    """Return the array with the schema's default in the place of every null."""
    if not array.null_count:
        return array
    both = pa.concat_arrays([array, pa.array([schema.default], array.type)])
    places = np.arange(len(array))
    places[array.is_null().to_numpy(zero_copy_only=False)] = len(array)
    return both.take(pa.array(places))


def _leaf(schema: Schema, avro: AvroType, path: str) -> Encoder:
    match avro.kind:
        case "int" | "long":
            return lambda array: [p.signed_varints(array)]
        case "float" | "double":
            target = pa.float32() if avro.kind == "float" else pa.float64()
            return lambda array: [p.little_endian(array.cast(target))]
        case "boolean":
            return lambda array: [pc.if_else(array, pa.scalar(b"\x01"), pa.scalar(b"\x00"))]
        case "enum":
            return _enum(avro, path)
        case "fixed":
            return _fixed(schema, avro, path)
    return _decimals if schema.name == s.DECIMAL else _strings


def _strings(array: pa.Array) -> p.Parts:
    return [p.varints(p.lengths_of(array).astype(np.uint64) << np.uint64(1)), p.as_binary(array)]


def _decimals(array: pa.Array) -> p.Parts:
    return _strings(unscaled_of(array))


def _enum(avro: AvroType, path: str) -> Encoder:
    symbols = pa.array(avro.symbols, pa.utf8())

    def encode(array: pa.Array) -> p.Parts:
        places = pc.index_in(array, symbols)
        if places.null_count:
            wrong = array.filter(places.is_null())[0].as_py()
            raise SchemaError(f"{wrong!r:.60} is no symbol of the Avro enum {avro.name}.", field=path)
        return [p.signed_varints(places)]

    return encode


def _fixed(schema: Schema, avro: AvroType, path: str) -> Encoder:
    def encode(array: pa.Array) -> p.Parts:
        values = unscaled_of(array) if schema.name == s.DECIMAL else array
        lengths = p.lengths_of(values)
        if schema.name == s.DECIMAL and (lengths <= avro.size).all():
            negative = pc.greater_equal(pc.binary_slice(values, 0, 1), pa.scalar(b"\x80"))
            sign = pc.if_else(negative, pa.scalar(b"\xff"), pa.scalar(b"\x00"))
            return [pc.binary_repeat(sign, pa.array(avro.size - lengths)), values]
        if (lengths != avro.size).any():
            raise SchemaError(f"A value is not {avro.size} bytes long, as {avro.name} must be.", field=path)
        return [values]

    return encode


def _lists(items: Encoder) -> Encoder:
    return lambda array: _blocks(array, items(array.flatten()))


def _blocks(lists: pa.Array, parts: p.Parts) -> p.Parts:
    """Return every list as one block and the end mark; an empty one is the end mark alone."""
    counts = p.list_lengths(lists)
    total = int(counts.sum())
    if not total:
        return [pa.scalar(b"\x00")]
    content = p.concatenated_per_list(lists, p.joined(p.with_array(parts, total)))
    heads = p.joined([p.varints(counts.astype(np.uint64) << np.uint64(1)), content, pa.scalar(b"\x00")])
    return [pc.if_else(pa.array(counts > 0), heads, pa.scalar(b"\x00"))]


def _tag(index: int) -> bytes:
    return bytes(p.varints(np.array([2 * index], np.uint64))[0].as_py())


def _same_logical(schema: Schema, avro: AvroType) -> bool:
    """Tell if the Avro type has the same logical type, or is a plain whole number that stands for a date or time.

    A Decimal keeps its scale.
    """
    if schema.name == s.DECIMAL:
        return avro.logical != "decimal" or avro.properties.get("scale", 0) == schema.decimal_scale
    allowed = {s.DATE: "date", s.TIME: "time-millis", s.TIMESTAMP: "timestamp-millis"}
    moments = frozenset(allowed.values()) | {"time-micros", "timestamp-micros", "decimal"}
    return avro.logical not in moments or allowed.get(schema.name or "") == avro.logical


def _mismatch(schema: Schema, avro: AvroType, path: str) -> SchemaError:
    what = f"{avro.kind} ({avro.logical})" if avro.logical else avro.kind
    return SchemaError(
        f"The record has {schema.name or schema.type} here, the Avro schema {what}.", field=path,
        fix="Cast the field, or register a schema that fits.",
    )  # fmt: skip
