"""Prints Connect values as Java's `toString()` does in the time zone UTC. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.lib.javatext.dates import date_string
from connect.lib.javatext.numbers import decimal_text, float32_text, float64_text

OfBytes = Callable[[bytes], str]

BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
"""This is the width of each integer type, in bits."""


def float_text(value: float, schema: Schema | None) -> str:
    """Return the text of a float of this schema; without one it is a double."""
    narrow = schema is not None and schema.type is Type.FLOAT32
    return float32_text(value) if narrow else float64_text(value)


def java_string(value: Any, schema: Schema | None = None, *, of_bytes: OfBytes | None = None) -> str:
    """Return the text of a value. `of_bytes` makes the text of bytes, for which Java prints an object's address;
    without it bytes are a SchemaError.
    """
    match value:
        case None:
            return "null"
        case str():
            return value
        case dt.date() | dt.time():
            return date_string(value)
        case bytes() if of_bytes is not None:
            return of_bytes(value)
        case Mapping():
            return _mapping(value, schema, of_bytes)
        case list() | tuple():
            items = schema.items if schema is not None else None
            return "[" + ", ".join(java_string(v, items, of_bytes=of_bytes) for v in value) + "]"
    return scalar_string(value, schema)


def scalar_string(value: Any, schema: Schema | None) -> str:
    """Return the text of a boolean or number. Raise SchemaError for any other value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return float_text(value, schema)
        case Decimal():
            return decimal_text(value)
    raise SchemaError(f"A value of type {type(value).__name__} has no text.", fix="Use the ByteArrayConverter.")


def _mapping(value: Mapping[Any, Any], schema: Schema | None, of_bytes: OfBytes | None) -> str:
    def text(inner: Any, inner_schema: Schema | None) -> str:
        return java_string(inner, inner_schema, of_bytes=of_bytes)

    if schema is not None and schema.type is Type.STRUCT:
        present = ((f.name, value.get(f.name), f.schema) for f in schema.fields)
        return "Struct{" + ",".join(f"{n}={text(v, s)}" for n, v, s in present if v is not None) + "}"
    keys, items = (schema.keys, schema.items) if schema is not None else (None, None)
    return "{" + ", ".join(f"{text(k, keys)}={text(v, items)}" for k, v in value.items()) + "}"
