"""Tells which values DuckDB's column types hold, by the types' names in its catalog. Pure."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import types as t

from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Projection

_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")


class UnsignedBigInteger(sa.BigInteger):
    """Holds an integer of eight bytes without a sign."""

    unsigned: ClassVar[bool] = True


class TinyInt(sa.SmallInteger):
    """Holds an integer of one byte."""

    __visit_name__ = "small_integer"


class NanosecondTimestamp(sa.DateTime):
    """Holds a timestamp with nine digits of a second."""


_NAMED: Final[dict[str, t.TypeEngine[Any]]] = {
    "BOOLEAN": sa.Boolean(), "TINYINT": TinyInt(), "SMALLINT": sa.SmallInteger(), "UTINYINT": sa.SmallInteger(),
    "INTEGER": sa.Integer(), "USMALLINT": sa.Integer(), "BIGINT": sa.BigInteger(), "UINTEGER": sa.BigInteger(),
    "UBIGINT": UnsignedBigInteger(), "FLOAT": sa.REAL(), "DOUBLE": sa.DOUBLE(), "VARCHAR": sa.Text(),
    "BLOB": sa.LargeBinary(), "DATE": sa.Date(), "TIME": sa.Time(), "UUID": sa.Uuid(), "JSON": sa.JSON(),
    "TIMESTAMP": sa.DateTime(), "TIMESTAMP_S": sa.DateTime(), "TIMESTAMP_MS": sa.DateTime(),
    "TIMESTAMP_NS": NanosecondTimestamp(), "TIMESTAMP WITH TIME ZONE": sa.DateTime(timezone=True),
}  # fmt: skip


def type_named(name: str) -> t.TypeEngine[Any]:
    """Return the type that has this name in the catalog; NullType for a type without a counterpart.

    Lists and structs have no counterpart, nor has HUGEINT, which has up to 39 digits, more than a number in Arrow.
    """
    if decimal := _DECIMAL.fullmatch(name):
        return sa.DECIMAL(int(decimal[1]), int(decimal[2]))
    if name.startswith("ENUM("):
        return sa.Enum()
    return _NAMED.get(name, sa.types.NULLTYPE)


class DuckDbTypes(ColumnTypes):
    """Tells which values the column types of DuckDB hold."""

    documents = Projection.TEXT

    def moments(self, kind: sa.DateTime) -> Projection:
        """Return that timestamps of nanoseconds are read and ordered as microseconds, which DuckDB rounds."""
        return Projection.MICROSECONDS if isinstance(kind, NanosecondTimestamp) else Projection.AS_IS
