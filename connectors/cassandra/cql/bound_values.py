"""Converts values of rows into those that the driver binds to a column. Pure.

A value may have the form that the Cassandra source gives it (see `schemas`). It may also have a form that other sources
use: a number of one of Connect's or Debezium's time types, a Decimal, or a text.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
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
_NS_PER_MS: Final = 1_000_000
_DEBEZIUM: Final = "io.debezium.time."
# Nanoseconds in one unit of each type.
_MOMENTS: Final = {
    f"{_DEBEZIUM}Timestamp": _NS_PER_MS, f"{_DEBEZIUM}MicroTimestamp": 1000, f"{_DEBEZIUM}NanoTimestamp": 1,
    f"{_DEBEZIUM}Date": _NS_PER_DAY,
}  # fmt: skip
_TIMES_OF_DAY: Final = {f"{_DEBEZIUM}Time": _NS_PER_MS, f"{_DEBEZIUM}MicroTime": 1000, f"{_DEBEZIUM}NanoTime": 1}
_UNITS: Final = {
    "timestamp": (_MOMENTS, _NS_PER_MS), "date": (_MOMENTS, _NS_PER_DAY), "time": (_TIMES_OF_DAY, 1),
}  # fmt: skip
"""Holds for each type of times the units of the names that a number may have, and the unit of one without a name."""
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
            return _time_type(cql.name, (schema.name if schema is not None else None) or "")
        case "list" | "set" | "vector":
            element = _element(cql.parameters[0], schema.items if schema is not None else None)
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


def _element(cql: CqlType, schema: Schema | None) -> Bind:
    """Return the function for elements, keys or values in a collection, of which none may be null.

    The driver would send empty bytes for a null: a text that is empty, or an error of the server for each try.
    """
    bind = _bind(cql, schema)

    def bound(value: Any) -> Any:
        if value is None:
            raise SchemaError("It holds a null, which collections of Cassandra cannot.")
        return bind(value)

    return bound


def _many(value: Any) -> Any:
    if isinstance(value, (str, bytes, Mapping)):
        raise SchemaError(f"A {type(value).__name__} is no list of values.")
    return value


def _map(cql: CqlType, schema: Schema | None) -> Bind:
    key_schema, element_schema = (None, None) if schema is None else (schema.keys, schema.items)
    key, element = _element(cql.parameters[0], key_schema), _element(cql.parameters[1], element_schema)
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


def _time_type(cql: str, name: str) -> Bind:
    """Return the function for a timestamp, date or time; `name` is that of the value's schema, or empty."""
    units, plain_ns = _UNITS[cql]
    unit_ns = units.get(name, plain_ns)
    make: Callable[[Any, int], Any] = {"timestamp": _timestamp, "date": _date, "time": _time}[cql]

    def bind(value: Any) -> Any:
        if name.startswith(_DEBEZIUM) and name not in units:
            raise SchemaError(f"A value of {name} is no {cql}.")
        return make(value, unit_ns)

    return bind


def _timestamp(value: Any, unit_ns: int) -> int:
    return _in_range(_whole(_since_1970_ns(value, unit_ns), _NS_PER_MS, "milliseconds, which a timestamp"), 64)


def _date(value: Any, unit_ns: int) -> Date:
    return Date(_in_range(_whole(_since_1970_ns(value, unit_ns), _NS_PER_DAY, "days, which a date"), 32))


def _since_1970_ns(value: Any, unit_ns: int) -> int:
    if isinstance(value, datetime):
        since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    elif isinstance(value, date):
        since = timedelta(days=value.toordinal() - _EPOCH.toordinal())
    else:
        return _number(value) * unit_ns
    return since.days * _NS_PER_DAY + since.seconds * 10**9 + since.microseconds * 1000


def _time(value: Any, unit_ns: int) -> Time:
    if isinstance(value, clock_time):
        return Time(value)
    ns = _number(value) * unit_ns
    if ns < 0:
        raise SchemaError(f"{value} is no time of a day.")
    return Time(ns)


def _in_range(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise SchemaError(f"{value} does not fit into {bits} bits.")
    return value


def _whole(value_ns: int, unit_ns: int, what: str) -> int:
    if value_ns % unit_ns:
        raise SchemaError(f"It is finer than {what} of Cassandra holds.")
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
