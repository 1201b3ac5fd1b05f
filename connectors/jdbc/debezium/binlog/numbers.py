"""Reads numbers and bits of MySQL and MariaDB in the forms of Debezium's handling modes. Pure."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

import pyarrow as pa

from connect.api import schema as s
from connectors.jdbc.debezium.binlog.declared_type import DeclaredType
from connectors.jdbc.debezium.binlog.kinds import BinlogKind, as_they_are, by_value
from connectors.jdbc.values.types import Raw

_UNSIGNED = s.decimal(0, precision=20)
_FLOAT_DIGITS = 24
"""A FLOAT with at most this many bits of precision has four bytes."""


def unsigned_bigint(mode: str) -> BinlogKind:
    """Return the kind of BIGINT UNSIGNED. If it is INT64, values that are too large for it become negative numbers."""
    if mode == "precise":
        return BinlogKind(_UNSIGNED, Raw.DECIMAL, _UNSIGNED, as_they_are, Decimal(0))

    def wrapped(values: pa.Array) -> pa.Array:
        return values.cast(pa.uint64()).view(pa.int64())

    return BinlogKind(s.INT64, Raw.DECIMAL, _UNSIGNED, wrapped, 0)


def decimal(declared: DeclaredType, mode: str) -> BinlogKind:
    """Return the kind of DECIMAL."""
    precision, scale = (*declared.sizes, *(10, 0)[len(declared.sizes) :])[:2]
    exact = s.decimal(scale, precision=precision)
    if mode == "string":
        told = by_value(s.STRING, lambda value: f"{value:f}")
        return BinlogKind(s.STRING, Raw.DECIMAL, exact, told, f"{0:.{scale}f}")
    if mode == "double":
        # Arrow's own cast is off by a unit in the last place where there are many digits.
        return BinlogKind(s.FLOAT64, Raw.DECIMAL, exact, lambda v: v.cast(pa.string()).cast(pa.float64()), 0.0)
    return BinlogKind(exact, Raw.DECIMAL, exact, as_they_are, Decimal(0).scaleb(-scale))


def floating(declared: DeclaredType) -> BinlogKind:
    """Return the kind of FLOAT: with digits behind the point it is FLOAT64."""
    is_short = len(declared.sizes) < 2 and (declared.size or 0) <= _FLOAT_DIGITS
    schema, target = (s.FLOAT32, pa.float32()) if is_short else (s.FLOAT64, pa.float64())
    return BinlogKind(schema, Raw.FLOAT, s.FLOAT32, lambda values: values.cast(target), 0.0)


def double() -> BinlogKind:
    """Return the kind of DOUBLE."""
    return BinlogKind(s.FLOAT64, Raw.FLOAT, s.FLOAT64, as_they_are, 0.0)


def bits(declared: DeclaredType) -> BinlogKind:
    """Return the kind of BIT: one is a boolean, more are bytes from the lowest on."""
    length = declared.size or 1
    if length == 1:
        told = by_value(s.BOOLEAN, lambda value: any(_octets(value)))
        return BinlogKind(s.BOOLEAN, Raw.BYTES, s.BYTES, told, absent=False)
    parameters = MappingProxyType({"length": str(length)})
    schema = replace(s.BYTES, name="io.debezium.data.Bits", version=1, parameters=parameters)
    return BinlogKind(schema, Raw.BYTES, s.BYTES, by_value(schema, lambda value: _octets(value)[::-1]), b"")


def _octets(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value
