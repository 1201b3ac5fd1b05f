"""Casts one value to another type as Java's Cast does: numbers wrap or saturate, texts are range-checked. Pure."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.api.values.text import BITS, float_text
from connect.lib.javatext.calendar import DAY_MS
from connect.lib.javatext.date_format import DateFormat
from connect.lib.javatext.numbers import (
    decimal_text,
    parse_float32,
    parse_real,
    parse_whole,
    to_float32,
    truncated,
    wrapped,
)
from connect.transforms.settings.cast_spec import SOURCES, java_types
from connect.transforms.structure.java_names import class_name

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TIME, _DATE, _MOMENT = (DateFormat(p, 1970) for p in ("HH:mm:ss.SSS'Z'", "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))
_LOGICAL = frozenset({s.DATE, s.TIME, s.TIMESTAMP})


def check_source(value: Any, schema: Schema | None) -> None:
    """Raise SchemaError for values of types that cannot be cast."""
    if schema is None and isinstance(value, dt.date | dt.time | Decimal):
        kind = class_name(value, None)
        raise SchemaError(
            f"Cast transformation was passed a value of type class {kind} which is not supported by Connect's data API"
        )
    source = schema.type if schema is not None else _container(value)
    if source is not None and source not in SOURCES:
        raise unsupported(source)


def unsupported(source: Type) -> SchemaError:
    """Return the error for values of a type that cannot be cast."""
    return SchemaError(
        f"Cast transformation does not support casting from {source.upper()}; supported types are {java_types(SOURCES)}"
    )


def cast_value(value: Any, schema: Schema | None, target: Type) -> Any:
    """Return the value as another type; None stays None. SchemaError, in Java's words: it cannot be cast."""
    if value is None:
        return None
    check_source(value, schema)
    if target is Type.STRING:
        return _text(value, schema)
    number = encoded(value, schema)
    try:
        return _CASTS[target](number, target)
    except ValueError:
        raise SchemaError(f"Value ({number}) was out of range for requested data type") from None
    except _UnexpectedTypeError:
        raise SchemaError(f"Unexpected type in Cast transformation: class {class_name(value, schema)}") from None


def epoch_ms(value: dt.date | dt.time) -> int:
    """Return milliseconds since the epoch: for a date its midnight, for a time that time on the first day."""
    if isinstance(value, dt.time):
        value = dt.datetime.combine(_EPOCH.date(), value, dt.UTC)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time(), dt.UTC)
    return (value - _EPOCH) // dt.timedelta(milliseconds=1)


def encoded(value: Any, schema: Schema | None) -> Any:
    """Return a date as days, a time or moment as milliseconds; other values as they are."""
    if schema is None or schema.name not in _LOGICAL:
        return value
    if not isinstance(value, dt.date | dt.time):
        raise SchemaError(f"A value of type {type(value).__name__} is no {schema.name}.")
    return epoch_ms(value) // DAY_MS if schema.name == s.DATE else epoch_ms(value)


def moment_text(ms: int) -> str:
    """Return the text of a moment in a form that Java chooses by the number.

    A number below one day is a time, one at midnight a date, and any other a timestamp.
    """
    form = _TIME if ms < DAY_MS else _MOMENT if ms % DAY_MS else _DATE
    return form.format(ms)


class _UnexpectedTypeError(Exception):
    """Says that a value is of a type that cannot be cast; bytes are cast to strings only."""


def _container(value: Any) -> Type | None:
    if isinstance(value, Mapping):
        return Type.MAP
    return Type.ARRAY if isinstance(value, list | tuple) else None


def _text(value: Any, schema: Schema | None) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value, schema)
        case Decimal():
            return decimal_text(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case dt.date() | dt.time():
            return moment_text(epoch_ms(value))
    return str(value)


def _whole(value: Any, target: Type) -> int:
    bits = BITS[target]
    match value:
        case bool() | int():
            return wrapped(int(value), bits)
        case float():
            return truncated(value, bits)
        case Decimal():
            return wrapped(int(value), bits)
        case str():
            return parse_whole(value, bits)
    raise _UnexpectedTypeError


def _float(value: Any, target: Type) -> float:
    narrow = target is Type.FLOAT32
    match value:
        case str():
            return parse_float32(value) if narrow else parse_real(value)
        case Decimal() if narrow:
            return parse_float32(str(value))
        case bool() | int() | float() | Decimal():
            return _int_to_float32(value) if narrow and isinstance(value, int) else _wide(value, narrow=narrow)
    raise _UnexpectedTypeError


def _int_to_float32(value: int) -> float:
    return parse_float32(str(int(value)))


def _wide(value: Any, *, narrow: bool) -> float:
    return to_float32(float(value)) if narrow else float(value)


def _boolean(value: Any, _: Type) -> bool:
    match value:
        case bool():
            return value
        case int():
            return value != 0
        case float():
            return truncated(value, 64) != 0
        case Decimal():
            return wrapped(int(value), 64) != 0
        case str():
            return value.lower() == "true"
    raise _UnexpectedTypeError


_CASTS: Mapping[Type, Callable[[Any, Type], Any]] = MappingProxyType(
    {**dict.fromkeys(BITS, _whole), Type.FLOAT32: _float, Type.FLOAT64: _float, Type.BOOLEAN: _boolean}
)
