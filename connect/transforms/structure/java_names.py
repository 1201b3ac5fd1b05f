"""Names the class that Java has for a value in Python form, for messages only. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from connect.api.schema import Schema, Type

_WIDTHS = {Type.INT8: "Byte", Type.INT16: "Short", Type.INT32: "Integer", Type.INT64: "Long", Type.FLOAT32: "Float"}
_CLASSES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((type(None),), "null"),
    ((bool,), "java.lang.Boolean"),
    ((str,), "java.lang.String"),
    ((bytes, bytearray, memoryview), "[B"),
    ((Decimal,), "java.math.BigDecimal"),
    ((dt.date, dt.time), "java.util.Date"),
    ((Mapping,), "java.util.LinkedHashMap"),
    ((list, tuple), "java.util.ArrayList"),
)


def class_name(value: Any, schema: Schema | None) -> str:
    """Return the Java class of a value. A number without a schema is a Long or a Double, as in Java's JSON."""
    if schema is not None and schema.type is Type.STRUCT and isinstance(value, Mapping):
        return "org.apache.kafka.connect.data.Struct"
    if isinstance(value, int | float) and not isinstance(value, bool):
        widest = "Long" if isinstance(value, int) else "Double"
        return f"java.lang.{_WIDTHS.get(schema.type, widest) if schema is not None else widest}"
    found = (name for kinds, name in _CLASSES if isinstance(value, kinds))
    return next(found, f"{type(value).__module__}.{type(value).__qualname__}")


def schema_text(schema: Schema) -> str:
    """Return the schema as Java's `Schema.toString` writes it."""
    return f"Schema{{{schema.name}:{schema.type.upper()}}}" if schema.name else f"Schema{{{schema.type.upper()}}}"
