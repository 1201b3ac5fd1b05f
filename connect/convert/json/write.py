"""Turns Connect values in Python form into JSON text, byte for byte as Java's JsonConverter does. Pure, row by row."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.json.java_text import (
    decimal_of,
    json_string,
    unscaled_bytes,
    unscaled_value,
)
from connect.lib.javatext.numbers import decimal_text, float32_text, float64_text, to_float32

Writer = Callable[[Any], str]
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
REQUIRED_NULL = "Conversion error: null value for field that is required and has no default value"


@dataclass(frozen=True, slots=True)
class Writing:
    """Tells how values are written. `java`: reject what Java rejects although nothing would be lost.

    `embeds`: what `schema.recursive` holds stands in its place, and not as a text.
    """

    numeric_decimals: bool = False
    replace_null_with_default: bool = True
    java: bool = False
    embeds: bool = False


def write_value(schema: Schema | None, value: object, writing: Writing) -> str:
    """Return the JSON text of one value. SchemaError names the field that does not fit."""
    return writer(schema, writing)(value)


def writer(schema: Schema | None, writing: Writing, path: str = "") -> Writer:
    """Return a function that writes values of this schema; build it once per schema."""
    if schema is None:
        return lambda value: _schemaless(value, path)
    write = _typed(schema, writing, path)
    default = schema.default if writing.replace_null_with_default else None

    def write_or_null(value: Any) -> str:
        if value is not None:
            return write(value)
        if default is not None:
            return write(default)
        if schema.optional:
            return "null"
        raise SchemaError(REQUIRED_NULL, field=path)

    return write_or_null


def _typed(schema: Schema, writing: Writing, path: str) -> Writer:
    match schema.name:
        case s.DECIMAL:
            return _decimal_writer(schema, writing, path)
        case s.DATE | s.TIME | s.TIMESTAMP:
            return _instant_writer(schema.name, path)
        case s.RECURSIVE if writing.embeds:
            return _checked(Type.STRING, str, str, path)
    match schema.type:
        case Type.STRUCT:
            return _struct_writer(schema, writing, path)
        case Type.MAP:
            return _map_writer(schema, writing, path)
        case Type.ARRAY:
            return _array_writer(schema, writing, path)
    return _primitive(schema.type, path)


def _primitive(kind: Type, path: str) -> Writer:
    match kind:
        case Type.BOOLEAN:
            return _checked(kind, bool, lambda value: "true" if value else "false", path)
        case Type.STRING:
            return _checked(kind, str, json_string, path)
        case Type.BYTES:
            return _checked(kind, (bytes, bytearray, memoryview), _base64, path)
        case Type.FLOAT32:
            return _float_writer(kind, float32_text, path)
        case Type.FLOAT64:
            return _float_writer(kind, float64_text, path)
    return _int_writer(kind, path)


def _checked(kind: Type, accepted: type | tuple[type, ...], write: Writer, path: str) -> Writer:
    def write_checked(value: Any) -> str:
        if not isinstance(value, accepted):
            raise _mismatch(kind, value, path)
        return write(value)

    return write_checked


def _mismatch(kind: str, value: object, path: str) -> SchemaError:
    return SchemaError(f"Invalid type for {kind.upper()}: {type(value).__name__}", field=path)


def _int_writer(kind: Type, path: str) -> Writer:
    least, most = -(2 ** (_BITS[kind] - 1)), 2 ** (_BITS[kind] - 1) - 1

    def write(value: Any) -> str:
        if type(value) is not int:
            raise _mismatch(kind, value, path)
        if not least <= value <= most:
            raise SchemaError(f"{value} is out of range for {kind}.", field=path)
        return str(value)

    return write


def _float_writer(kind: Type, text: Callable[[float], str], path: str) -> Writer:
    def write(value: Any) -> str:
        if type(value) is not float and (type(value) is not int or int(float(value)) != value):
            raise _mismatch(kind, value, path)
        try:
            wide = float(value)
        except OverflowError:
            wide = math.inf
        kept = to_float32(wide) if kind is Type.FLOAT32 else wide
        if math.isinf(kept) and value not in {math.inf, -math.inf}:
            raise SchemaError(f"{value} is out of range for {kind}.", field=path)
        written = text(wide)
        return written if math.isfinite(value) else f'"{written}"'

    return write


def _base64(value: bytes) -> str:
    return f'"{base64.b64encode(value).decode()}"'


def _decimal_writer(schema: Schema, writing: Writing, path: str) -> Writer:
    def write(value: Any) -> str:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise SchemaError(f"Invalid type for Decimal, expected Decimal but was {type(value).__name__}", field=path)
        if writing.java and writing.numeric_decimals:
            return decimal_text(value)
        try:
            scale = schema.decimal_scale
            if writing.numeric_decimals:
                return decimal_text(decimal_of(unscaled_value(value, scale), scale))
            unscaled = unscaled_bytes(value, scale)
        except ValueError as error:
            raise SchemaError(f"Decimal value does not fit its schema: {error}", field=path) from None
        if writing.java and value.as_tuple().exponent != -scale:
            message = "Decimal value has mismatching scale for given Decimal schema."
            raise SchemaError(f"{message} Schema has scale {scale}, value is {value}.", field=path)
        return _base64(unscaled)

    return write


def _instant_writer(name: str, path: str) -> Writer:
    number = {s.DATE: _days, s.TIME: _time_ms, s.TIMESTAMP: _epoch_ms}[name]

    def write(value: Any) -> str:
        try:
            return str(number(value))
        except (TypeError, ValueError) as error:
            raise SchemaError(f"Invalid value for {name.removeprefix(s.LOGICAL)}: {error}", field=path) from None

    return write


def _days(value: Any) -> int:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise TypeError(f"expected date but was {type(value).__name__}")
    return value.toordinal() - _EPOCH_DAY


def _time_ms(value: Any) -> int:
    if not isinstance(value, dt.time):
        raise TypeError(f"expected time but was {type(value).__name__}")
    if value.microsecond % 1000:
        raise ValueError(f"{value} is finer than milliseconds")
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _epoch_ms(value: Any) -> int:
    if not isinstance(value, dt.datetime):
        raise TypeError(f"expected datetime but was {type(value).__name__}")
    since = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - _EPOCH
    if since.microseconds % 1000:
        raise ValueError(f"{value} is finer than milliseconds")
    return (since.days * 86400 + since.seconds) * 1000 + since.microseconds // 1000


def _struct_writer(schema: Schema, writing: Writing, path: str) -> Writer:
    fields = [
        (f.name, f"{json_string(f.name)}:", writer(f.schema, writing, f"{path}.{f.name}".lstrip(".")))
        for f in schema.fields
    ]
    names = frozenset(schema.field_index)

    def write(value: Any) -> str:
        if not isinstance(value, Mapping):
            raise _mismatch(Type.STRUCT, value, path)
        if not names.issuperset(value):
            raise SchemaError(f"Mismatching schema: no field {sorted(set(value) - names)}", field=path)
        get = value.get
        return "{" + ",".join([prefix + write_field(get(name)) for name, prefix, write_field in fields]) + "}"

    return write


def _array_writer(schema: Schema, writing: Writing, path: str) -> Writer:
    item = writer(schema.items, writing, f"{path}[]")

    def write(value: Any) -> str:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise _mismatch(Type.ARRAY, value, path)
        return "[" + ",".join([item(v) for v in value]) + "]"

    return write


def _map_writer(schema: Schema, writing: Writing, path: str) -> Writer:
    assert schema.keys is not None
    key, item = writer(schema.keys, writing, f"{path}.key"), writer(schema.items, writing, f"{path}.value")
    as_object = schema.keys.type is Type.STRING

    def write(value: Any) -> str:
        entries = _entries(value, path)
        if not as_object:
            return "[" + ",".join([f"[{key(k)},{item(v)}]" for k, v in entries]) + "]"
        # An absent optional key has no JSON name; Java writes the text null.
        names = ['"null"' if k is None and key(k) == "null" else key(k) for k, _ in entries]
        return "{" + ",".join([f"{n}:{item(v)}" for n, (_, v) in zip(names, entries, strict=True)]) + "}"

    return write


def _entries(value: object, path: str) -> Sequence[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        entries = [tuple(entry) for entry in value if isinstance(entry, (tuple, list)) and len(entry) == 2]
        if len(entries) == len(value):
            return entries
    raise _mismatch(Type.MAP, value, path)


def _schemaless(value: object, path: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return json_string(value)
        case int():
            return str(value)
        case float():
            return float64_text(value) if math.isfinite(value) else f'"{float64_text(value)}"'
        case bytes() | bytearray() | memoryview():
            return _base64(bytes(value))
        case Mapping():
            return _schemaless_map(value.items(), path)
        case list() | tuple():
            return "[" + ",".join([_schemaless(v, f"{path}[]") for v in value]) + "]"
    raise SchemaError(
        f"A value of type {type(value).__name__} does not have corresponding schema type.",
        field=path,
        fix="Give the column a schema.",
    )


def _schemaless_map(entries: Iterable[tuple[Any, Any]], path: str) -> str:
    pairs = [(k, _schemaless(v, f"{path}.{k}".lstrip("."))) for k, v in entries]
    if all(isinstance(k, str) for k, _ in pairs):
        return "{" + ",".join([f"{json_string(k)}:{v}" for k, v in pairs]) + "}"
    return "[" + ",".join([f"[{_schemaless(k, path)},{v}]" for k, v in pairs]) + "]"
