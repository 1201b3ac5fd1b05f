"""`toString()` of Connect values in Python form, as Java prints them in time zone UTC. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.java_text import decimal_text, double_text, float_text
from connect.convert.julian import date_string


def java_string(value: Any, schema: Schema | None = None) -> str:
    """The text of a value. SchemaError for bytes, which Java prints as an object address."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case dt.date() | dt.time():
            return date_string(value)
        case Mapping():
            return _mapping(value, schema)
        case list() | tuple():
            items = schema.items if schema is not None else None
            return "[" + ", ".join(java_string(v, items) for v in value) + "]"
    return scalar_string(value, schema)


def scalar_string(value: Any, schema: Schema | None) -> str:
    """The text of a boolean or number. SchemaError for any other value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
        case Decimal():
            return decimal_text(value)
    raise SchemaError(f"A value of type {type(value).__name__} has no text.", fix="Use the ByteArrayConverter.")


def _mapping(value: Mapping[Any, Any], schema: Schema | None) -> str:
    if schema is not None and schema.type is Type.STRUCT:
        present = ((f.name, value.get(f.name), f.schema) for f in schema.fields)
        return "Struct{" + ",".join(f"{n}={java_string(v, s)}" for n, v, s in present if v is not None) + "}"
    keys, items = (schema.keys, schema.items) if schema is not None else (None, None)
    return "{" + ", ".join(f"{java_string(k, keys)}={java_string(v, items)}" for k, v in value.items()) + "}"
