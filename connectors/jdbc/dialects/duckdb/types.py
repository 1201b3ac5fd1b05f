"""Tells what DuckDB's column types hold, by the names that its catalog has for them. Pure."""

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


_NAMED: Final[dict[str, t.TypeEngine[Any]]] = {
    "BOOLEAN": sa.Boolean(), "TINYINT": TinyInt(), "SMALLINT": sa.SmallInteger(), "UTINYINT": sa.SmallInteger(),
    "INTEGER": sa.Integer(), "USMALLINT": sa.Integer(), "BIGINT": sa.BigInteger(), "UINTEGER": sa.BigInteger(),
    "UBIGINT": UnsignedBigInteger(), "FLOAT": sa.REAL(), "DOUBLE": sa.DOUBLE(), "VARCHAR": sa.Text(),
    "BLOB": sa.LargeBinary(), "DATE": sa.Date(), "TIME": sa.Time(), "UUID": sa.Uuid(), "JSON": sa.JSON(),
    "TIMESTAMP": sa.DateTime(), "TIMESTAMP_S": sa.DateTime(), "TIMESTAMP_MS": sa.DateTime(),
    "TIMESTAMP_NS": sa.DateTime(), "TIMESTAMP WITH TIME ZONE": sa.DateTime(timezone=True),
}  # fmt: skip


def type_named(name: str) -> t.TypeEngine[Any]:
    """Return the type of a column by its name in the catalog; NullType for what has no counterpart.

    A HUGEINT has up to 39 digits, more than a number of Arrow holds, and is one of these; so are lists and structs.
    """
    if decimal := _DECIMAL.fullmatch(name):
        return sa.DECIMAL(int(decimal[1]), int(decimal[2]))
    if name.startswith("ENUM("):
        return sa.Enum()
    return _NAMED.get(name, sa.types.NULLTYPE)


class DuckDbTypes(ColumnTypes):
    """Tells what column types of DuckDB hold."""

    documents = Projection.TEXT
