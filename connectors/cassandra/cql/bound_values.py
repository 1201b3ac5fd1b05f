"""Converts values of rows into those that the driver binds to a column. Pure.

A value may have the form that the Cassandra source gives it (see `schemas`). It may also have a form that other sources
use: a number of one of Connect's or Debezium's time types, a Decimal, or a text.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from datetime import time as clock_time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from cassandra.util import Date, Duration, Time

from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connectors.cassandra.cql.cql_types import CqlType

Bind = Callable[[Any], Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_DAY: Final = 86_400_000_000_000
# Nanoseconds in one unit of each type.
_UNITS: Final = {
    "io.debezium.time.Timestamp": 1_000_000, "io.debezium.time.MicroTimestamp": 1000,
    "io.debezium.time.NanoTimestamp": 1, "io.debezium.time.Time": 1_000_000, "io.debezium.time.MicroTime": 1000,
    "io.debezium.time.NanoTime": 1,
}  # fmt: skip
_INTEGERS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "counter": 64}


def bind_of(cql: CqlType, field: str, schema: Schema | None = None) -> Bind:
    """Return the function that converts a row's values into those to bind to a column of this type.

    `field` names the column in errors. `schema` is what the row's field has: its name, such as
    io.debezium.time.Timestamp, tells the unit of times, and so do the names inside of it. The function returns None for
    None, and raises SchemaError for a value that has no lossless form.
    """
    bind = _bind(cql, schema)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return bind(value)
        except SchemaError as error:
            raise SchemaError(error.message, field=field) from error
        except (ValueError, TypeError, ArithmeticError, AttributeError, KeyError) as error:
            raise SchemaError(f"A {type(value).__name__} is no {cql.name}: {error}", field=field) from error

    return checked


def _bind(cql: CqlType, schema: Schema | None) -> Bind:
    if cql.name in _INTEGERS:
        return _integer(cql)
    match cql.name:
        case "timestamp" | "date" | "time":
            unit_ns = _UNITS.get((schema.name if schema is not None else None) or "")
            return {"timestamp": _timestamp, "date": _date, "time": _time}[cql.name](unit_ns)
        case "list" | "set" | "vector":
            element = _inner(cql.parameters[0], schema.items if schema is not None else None)
            return lambda value: [element(one) for one in _many(value)]
        case "map":
            return _map(cql, schema)
        case "tuple":
            return _struct(cql, tuple(f"field{i}" for i in range(1, len(cql.parameters) + 1)), schema)
        case "udt":
            return _struct(cql, cql.fields, schema)
    return _SIMPLE[cql.name]


def _inner(cql: CqlType, schema: Schema | None) -> Bind:
    bind = _bind(cql, schema)
    return lambda value: None if value is None else bind(value)


def _many(value: Any) -> Any:
    if isinstance(value, (str, bytes, Mapping)):
        raise SchemaError(f"A {type(value).__name__} is no list of values.")
    return value


def _map(cql: CqlType, schema: Schema | None) -> Bind:
    key_schema, element_schema = (None, None) if schema is None else (schema.keys, schema.items)
    key, element = _inner(cql.parameters[0], key_schema), _inner(cql.parameters[1], element_schema)
    return lambda value: {key(k): element(v) for k, v in value.items()}


def _struct(cql: CqlType, names: tuple[str, ...], schema: Schema | None) -> Bind:
    binds = [
        (name, _inner(parameter, schema.field(name) if schema is not None else None))
        for name, parameter in zip(names, cql.parameters, strict=True)
    ]

    def bind(value: Mapping[str, Any]) -> tuple[Any, ...]:
        unknown = [name for name in value if name not in names]
        if unknown:
            raise SchemaError(f"{cql.title or cql.name} has no field {', '.join(unknown)}.")
        return tuple(one(value.get(name)) for name, one in binds)

    return bind


def _integer(cql: CqlType) -> Bind:
    most = 1 << _INTEGERS[cql.name] - 1

    def bind(value: Any) -> int:
        if isinstance(value, bool) or int(value) != value:
            raise SchemaError(f"{value!r} is no whole number.")
        if not -most <= value < most:
            raise SchemaError(f"{value} does not fit into {cql.name}.")
        return int(value)

    return bind


def _timestamp(unit_ns: int | None) -> Bind:
    def bind(value: Any) -> int:
        if isinstance(value, datetime):
            since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
            return _whole(since.days * _NS_PER_DAY + since.seconds * 10**9 + since.microseconds * 1000, 1_000_000)
        return _whole(_number(value) * (unit_ns or 1_000_000), 1_000_000)

    return bind


def _date(_unit_ns: int | None) -> Bind:
    return lambda value: Date(value if isinstance(value, date) else _number(value))


def _time(unit_ns: int | None) -> Bind:
    def bind(value: Any) -> Time:
        if isinstance(value, clock_time):
            return Time(value)
        return Time(_number(value) * (unit_ns or 1))

    return bind


def _whole(value_ns: int, unit_ns: int) -> int:
    if value_ns % unit_ns:
        raise SchemaError("It is finer than milliseconds, which a timestamp of Cassandra holds.")
    return value_ns // unit_ns


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SchemaError(f"A {type(value).__name__} is no number of a type of times.")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"A {type(value).__name__} is no boolean.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"A {type(value).__name__} is no text.")
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise SchemaError(f"A {type(value).__name__} is no sequence of bytes.")
    return bytes(value)


def _float(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise SchemaError(f"A {type(value).__name__} is no number.")
    return float(value)


def _duration(value: Mapping[str, int]) -> Duration:
    return Duration(value["months"], value["days"], value["nanoseconds"])


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(_text(value))


_SIMPLE: Final[Mapping[str, Bind]] = {
    "ascii": _text, "text": _text, "inet": lambda value: str(ipaddress.ip_address(_text(value))),
    "uuid": _uuid, "timeuuid": _uuid, "boolean": _boolean, "blob": _bytes, "empty": _bytes, "custom": _bytes,
    "float": _float, "double": _float, "duration": _duration,
    "decimal": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    "varint": lambda value: int(value) if isinstance(value, (int, str)) and not isinstance(value, bool)
    else _whole_decimal(value),
}  # fmt: skip


def _whole_decimal(value: Any) -> int:
    if isinstance(value, Decimal) and value == int(value):
        return int(value)
    raise SchemaError(f"A {type(value).__name__} is no whole number.")
