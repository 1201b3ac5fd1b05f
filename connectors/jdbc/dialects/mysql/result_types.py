"""Reads the types of MariaDB and MySQL from the column definitions of results in the protocol. Pure.

Source: the field types and flags of the client/server protocol (dev.mysql.com/doc/dev/mysql-server, mysql_com.h).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import types as t
from sqlalchemy.dialects import mysql as my

from connectors.jdbc.values.types import ResultColumn

_NOT_NULL, _UNSIGNED, _ENUM, _SET = 1, 1 << 5, 1 << 8, 1 << 11
_BINARY: Final = 63
"""A column with this character set holds bytes."""
_MOST_FRACTION_DIGITS: Final = 6
_INTEGERS: Final = {1: my.TINYINT, 2: my.SMALLINT, 3: my.INTEGER, 8: my.BIGINT, 9: my.MEDIUMINT}
_CLOCKS: Final[Mapping[int, type[my.TIMESTAMP | my.TIME | my.DATETIME]]] = {
    7: my.TIMESTAMP,
    11: my.TIME,
    12: my.DATETIME,
}
_DECIMALS: Final = {0, 246}
_BIT: Final = 16
_PLAIN: Final[Mapping[int, t.TypeEngine[Any]]] = {
    4: my.FLOAT(), 5: my.DOUBLE(), 10: t.Date(), 13: my.YEAR(), 14: t.Date(), 245: my.JSON(), 255: t.LargeBinary(),
}  # fmt: skip
_TEXTS: Final = {15, 247, 248, 249, 250, 251, 252, 253, 254}
_NULL_ALONE: Final = 0


def result_columns(cursor: Any) -> dict[str, ResultColumn]:
    """Return a result's columns by name, without those that are NULL in each row; none if the driver hides the types.

    The server knows of outer joins: a column of a table that may have no row in the join is nullable.
    """
    fields = getattr(getattr(cursor, "_result", None), "fields", None) or ()
    found = {}
    for field in fields:
        kind = column_type(field.type_code, field.length, field.scale, field.flags, field.charsetnr)
        if kind is not None:
            found[str(field.name)] = ResultColumn(kind, nullable=not field.flags & _NOT_NULL)
    return found


def column_type(code: int, length: int, scale: int, flags: int, charset: int) -> t.TypeEngine[Any] | None:
    """Return the type that a column definition tells; None if it is unknown, or the column is NULL in each row.

    `length` is in bytes, or in digits for a number.
    """
    unsigned = bool(flags & _UNSIGNED)
    if code in _INTEGERS:
        return _INTEGERS[code](display_width=length, unsigned=unsigned)
    if code in _DECIMALS:
        # The sign and the point count as characters.
        return my.DECIMAL(length - (not unsigned) - (scale > 0), scale, unsigned=unsigned)
    if code in _CLOCKS:
        return _CLOCKS[code](fsp=min(scale, _MOST_FRACTION_DIGITS))
    if code == _BIT:
        return my.BIT(length)
    if code in _TEXTS and length != _NULL_ALONE:
        is_text = charset != _BINARY or flags & (_ENUM | _SET)
        return t.Text() if is_text else t.LargeBinary()
    return _PLAIN.get(code)
