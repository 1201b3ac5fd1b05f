"""Reads default values of Connect schemas from JSON in Avro's form, and writes them. Pure."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.json.java_text import decimal_of, unscaled_bytes

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = _EPOCH.date().toordinal()
_MILLISECOND = dt.timedelta(milliseconds=1)


def default_to_json(schema: Schema, value: Any) -> Any:
    """Return the JSON of a default; bytes are text of one character each (ISO 8859-1)."""
    if value is None:
        return None
    match schema.name:
        case s.DECIMAL:
            return unscaled_bytes(value, schema.decimal_scale).decode("latin-1")
        case s.DATE | s.TIME | s.TIMESTAMP:
            return moment_to_number(schema.name, value)
    match schema.type:
        case Type.BYTES:
            return bytes(value).decode("latin-1")
        case Type.FLOAT32 | Type.FLOAT64:
            return value if math.isfinite(value) else _non_finite(value)
        case Type.ARRAY:
            assert schema.items is not None
            return [default_to_json(schema.items, item) for item in value]
        case Type.MAP:
            assert schema.keys is not None
            assert schema.items is not None
            if schema.keys.type is Type.STRING:
                return {key: default_to_json(schema.items, item) for key, item in value.items()}
            return [[default_to_json(schema.keys, k), default_to_json(schema.items, v)] for k, v in value.items()]
        case Type.STRUCT:
            return {f.name: default_to_json(f.schema, value.get(f.name)) for f in schema.fields}
    return value


def default_from_json(schema: Schema, node: Any) -> Any:
    """Return in Python form the default that this JSON holds. SchemaError when it does not fit the schema."""
    if node is None:
        return None
    try:
        return _from_json(schema, node)
    except (ValueError, TypeError, AttributeError, OverflowError, KeyError) as error:
        raise SchemaError(f"The default {node!r:.80} does not fit {schema.name or schema.type}: {error}") from error


def _from_json(schema: Schema, node: Any) -> Any:
    match schema.name:
        case s.DECIMAL:
            return decimal_of(int.from_bytes(node.encode("latin-1"), "big", signed=True), schema.decimal_scale)
        case s.DATE | s.TIME | s.TIMESTAMP:
            return number_to_moment(schema.name, node)
    match schema.type:
        case Type.BYTES:
            return node.encode("latin-1")
        case Type.FLOAT32 | Type.FLOAT64:
            return float(node)
        case Type.ARRAY:
            assert schema.items is not None
            return [_optional_from_json(schema.items, item) for item in node]
        case Type.MAP:
            assert schema.keys is not None
            assert schema.items is not None
            pairs = node.items() if isinstance(node, Mapping) else node
            return {_from_json(schema.keys, k): _optional_from_json(schema.items, v) for k, v in pairs}
        case Type.STRUCT:
            return {f.name: _optional_from_json(f.schema, node.get(f.name)) for f in schema.fields}
    expected = {Type.STRING: str, Type.BOOLEAN: bool}.get(schema.type, int)
    if type(node) is not expected:
        raise TypeError(f"it is a {type(node).__name__}")
    return node


def _optional_from_json(schema: Schema, node: Any) -> Any:
    return None if node is None else _from_json(schema, node)


def moment_to_number(name: str, value: Any) -> int:
    """Return a Date as its days since 1970, a Time or Timestamp as its milliseconds."""
    if name == s.DATE:
        days: int = value.toordinal() - _EPOCH_DAY
        return days
    if name == s.TIME:
        return (dt.datetime.combine(_EPOCH.date(), value, dt.UTC) - _EPOCH) // _MILLISECOND
    number: int = (value - _EPOCH) // _MILLISECOND
    return number


def number_to_moment(name: str, number: int) -> Any:
    """Return the Date for a number of days, or the Time or Timestamp for a number of milliseconds."""
    if name == s.DATE:
        return dt.date.fromordinal(_EPOCH_DAY + number)
    moment = _EPOCH + number * _MILLISECOND
    return moment.time() if name == s.TIME else moment


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
