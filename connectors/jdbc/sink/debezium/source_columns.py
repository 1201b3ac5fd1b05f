"""Chooses the types of new columns by what fields tell of their source's columns. Pure.

Debezium's sources tell it with `column.propagate.source.type` or `datatype.propagate.source.type`. Source of the rules:
the types of debezium-connector-jdbc 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql as my
from sqlalchemy.dialects import postgresql as pg

from connect.api import schema as s
from connectors.jdbc.sink.debezium.geometry import Shape
from connectors.jdbc.sink.shape import Member

_Type = sa.types.TypeEngine[Any]
Made = Callable[[Member], _Type | None]
_TOLD: Final = "__debezium.source.column."
SECOND_DIGITS: Final = 6
"""Columns of times have so many digits of seconds, unless the source's column has fewer."""
UNSIGNED: Final = frozenset(f"{name} UNSIGNED{zeros}" for name in ("BIGINT", "INT8") for zeros in ("", " ZEROFILL"))
"""MySQL's types whose values come as negative numbers where they are beyond 63 bits."""
_KEY_LENGTH: Final = 255
_MOST_LENGTH: Final = 16_383
"""A column of texts that may have more characters than this has none of its own length on MariaDB and MySQL."""

_MOST_OF_POSTGRES: Final = 10_485_760


def column_type(schema: s.Schema) -> str:
    """Return the type of the source's column in capitals, or an empty text if it is not told."""
    return schema.parameters.get(f"{_TOLD}type", "").upper()


def _number(schema: s.Schema, name: str) -> int:
    return int(schema.parameters.get(f"{_TOLD}{name}") or 0)


def second_digits(schema: s.Schema) -> int:
    """Return how many digits of a second a new column of times has."""
    told = _number(schema, "scale" if f"{_TOLD}scale" in schema.parameters else "length")
    return told if 0 < told <= SECOND_DIGITS else SECOND_DIGITS


def _characters(member: Member, most: int) -> _Type | None:
    kind, length = column_type(member.schema), _number(member.schema, "length")
    if kind in {"CHAR", "CHARACTER", "BPCHAR", "NCHAR"}:
        return sa.CHAR(length or 1)
    if kind in {"VARCHAR", "VARCHAR2", "CHARACTER VARYING", "NVARCHAR", "NVARCHAR2"} and 0 < length <= most:
        return sa.VARCHAR(length)
    return None


def _mysql_characters(member: Member) -> _Type | None:
    return _characters(member, _KEY_LENGTH if member.is_key else _MOST_LENGTH)


def _mysql_bytes(member: Member) -> _Type | None:
    kind, length = column_type(member.schema), _number(member.schema, "length")
    if kind in _BLOBS or member.is_key:
        return None if member.is_key else _BLOBS[kind]
    return my.VARBINARY(length) if 0 < length <= _MOST_LENGTH and not kind.endswith("BLOB") else None


def _shown(kind: Callable[..., _Type]) -> Made:
    return lambda member: kind(display_width=_number(member.schema, "length") or None)


_BLOBS: Final = {"TINYBLOB": my.TINYBLOB(), "MEDIUMBLOB": my.MEDIUMBLOB(), "BLOB": my.BLOB()}
MYSQL: Final[Mapping[str, Made]] = MappingProxyType(
    {
        s.Type.STRING: _mysql_characters, s.Type.BYTES: _mysql_bytes, "MEDIUMINT": _shown(my.MEDIUMINT),
        "TINYINT": _shown(my.TINYINT), "INTEGER": _shown(my.INTEGER),
    }
)  # fmt: skip
"""Makes types of MariaDB and MySQL by the type of the source's column, or else by that of the schema."""
_SAME: Final[tuple[_Type, ...]] = (
    pg.CIDR(), pg.INET(), pg.MACADDR(), pg.INT4RANGE(), pg.INT8RANGE(), pg.NUMRANGE(), pg.TSRANGE(), pg.TSTZRANGE(),
    pg.DATERANGE(), pg.MONEY(), pg.OID(),
)  # fmt: skip


def _always(kind: _Type) -> Made:
    def always(member: Member) -> _Type:
        del member
        return kind

    return always


POSTGRES: Final[Mapping[str, Made]] = MappingProxyType(
    {
        **{kind.__visit_name__.upper(): _always(kind) for kind in _SAME},
        "XML": _always(Shape("XML")), "BIT": _always(pg.BIT(1)),
        s.Type.STRING: lambda member: _characters(member, _MOST_OF_POSTGRES),
    }
)  # fmt: skip
"""Makes types of PostgreSQL likewise."""


def made(choices: Mapping[str, Made], member: Member) -> _Type | None:
    """Return the type by the source's column, or None if nothing is told that has one."""
    schema = member.schema
    told = column_type(schema)
    if not told:
        return None
    choose = choices.get(told) or choices.get(schema.type)
    return None if choose is None else choose(member)
