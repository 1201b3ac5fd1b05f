"""Runs prepared statements of MariaDB and MySQL, whose rows come in binary form, and makes text rows of some of them.

In binary form the server sends numbers and times as it has them. Writing doubles as text would cost it as much time as
all else of a row.

Source: MariaDB's protocol documentation, "COM_STMT_PREPARE", "COM_STMT_EXECUTE" and "Resultset row".
"""

# ruff: noqa: SLF001 - PyMySQL has no prepared statements; what it sends commands by is private, its version is pinned

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Protocol

import numpy as np

from connectors.jdbc.values.byte_fields import PADDING, Places
from connectors.jdbc.values.types import Raw

_UNKNOWN_COMMAND, _NOT_PREPARED, _TOO_MANY = 1047, 1295, 1461
_TEXT_ONLY: Final = frozenset({_UNKNOWN_COMMAND, _NOT_PREPARED, _TOO_MANY})
"""After these errors a statement is run by the text protocol.

The first two come from proxies and for some kinds of statements, the third from servers at max_prepared_stmt_count.
"""
_INTEGERS: Final = {1: "c", 2: "s", 3: "i", 8: "l", 9: "i", 13: "s"}
_YEAR, _DOUBLE, _TIME = 13, 5, 11
_STRINGS: Final = frozenset({0, 6, 15, 16, *range(245, 256)})
_MOMENTS: Final = {
    7: {Raw.WALL_CLOCK, Raw.INSTANT},
    10: {Raw.DATE},
    12: {Raw.WALL_CLOCK, Raw.INSTANT},
}
_UNSIGNED, _ZEROFILL = 0x20, 0x40
_ANY_DIGITS = 31
"""A DOUBLE that is shown with all its digits has this scale. DOUBLE(10, 2) is shown rounded."""
_NUMBERS: Final = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "g": "d"}
"""Maps letters of the native code to those of `struct`."""
_NULL = b"\xfb"
_EXECUTE_ONCE = struct.Struct("<IBI")
_PREPARED = struct.Struct("<xIHH")


class Field(Protocol):
    """Declares the members that are used of PyMySQL's description of a result's column."""

    type_code: int
    flags: int
    scale: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """Holds the number of a statement that is prepared on the server.

    `wires` has one letter for each column, by which the native code knows its binary form (mysql_binary.cpp).
    """

    driver: Any
    number: int
    wires: str

    def execute(self) -> None:
        """Have the server run the statement; it begins to send the rows."""
        from pymysql.constants import COMMAND

        self.driver._execute_command(COMMAND.COM_STMT_EXECUTE, _EXECUTE_ONCE.pack(self.number, 0, 1))

    def close(self) -> None:
        """Have the server forget the statement. It sends no answer to this."""
        from pymysql.constants import COMMAND

        self.driver._execute_command(COMMAND.COM_STMT_CLOSE, struct.pack("<I", self.number))


def prepared(driver: Any, sql: str, raws: Sequence[Raw]) -> Prepared | None:
    """Prepare a statement on the server and return it; None if it has to be read by the text protocol.

    `raws` are the kinds of its first columns; columns after them are wanted as text. Errors are those of pymysql.
    """
    from pymysql.constants import COMMAND
    from pymysql.err import MySQLError
    from pymysql.protocol import FieldDescriptorPacket

    driver._execute_command(COMMAND.COM_STMT_PREPARE, sql)
    try:
        number, columns, parameters = _PREPARED.unpack(driver._read_packet().get_all_data()[: _PREPARED.size])
    except MySQLError as error:
        if error.args and error.args[0] in _TEXT_ONLY:
            return None
        raise
    for count in (parameters, columns):
        fields = [driver._read_packet(FieldDescriptorPacket) for _ in range(count)]
        if count:
            driver._read_packet()  # The end of the descriptions.
    wires = None if parameters else wires_of(fields, raws)
    statement = Prepared(driver, number, wires or "")
    if wires is None:
        statement.close()
        return None
    return statement


def wires_of(fields: Sequence[Field], raws: Sequence[Raw]) -> str | None:
    """Return the native code's letters for a result's columns; None if one has no binary form that fits its kind.

    The server would show some numbers otherwise as text (ZEROFILL, DOUBLE(10, 2)); their binary form does not fit.
    """
    if len(fields) < len(raws):
        return None
    wires = [_wire(field, raw) for field, raw in zip_longest(fields, raws)]
    return None if None in wires else "".join(wire for wire in wires if wire)


def _wire(field: Field, raw: Raw | None) -> str | None:
    code = field.type_code
    if code in _STRINGS:
        return "v"
    if code in _INTEGERS:
        padded = code == _YEAR or field.flags & _ZEROFILL
        number = raw in {Raw.INTEGER, Raw.BOOLEAN} or (raw in {Raw.DECIMAL, Raw.TEXT, None} and not padded)
        is_unsigned = field.flags & _UNSIGNED
        return (_INTEGERS[code].upper() if is_unsigned else _INTEGERS[code]) if number else None
    if code == _DOUBLE:
        return "g" if raw is Raw.FLOAT and field.scale >= _ANY_DIGITS else None
    if code == _TIME:
        return "m" if raw is Raw.TIME else None
    return "t" if raw in _MOMENTS.get(code, ()) else None


def as_text_rows(buffer: bytearray, starts: Places, wires: str, dates: Sequence[bool]) -> tuple[bytearray, Places]:
    """Convert rows of binary form to the text protocol's form, and return the buffer and the places where they begin.

    It is slow, and used for the few pages that the native code cannot decode. `dates` has True for each column of dates
    without a time.
    """
    made, places = bytearray(), []
    for start in starts.tolist():
        places.append(len(made))
        nulls = int.from_bytes(buffer[start + 1 : start + 1 + (len(wires) + 9) // 8], "little") >> 2
        at = start + 1 + (len(wires) + 9) // 8
        for place, wire in enumerate(wires):
            if nulls >> place & 1:
                made += _NULL
                continue
            at, text = _text(buffer, at, wire, is_date=dates[place])
            made += _counted(text)
    return made + bytes(PADDING), np.array(places, np.int64)


def _text(buffer: bytearray, at: int, wire: str, *, is_date: bool) -> tuple[int, bytes]:
    letter = _NUMBERS.get(wire)
    if letter is not None:
        (number,) = struct.unpack_from(f"<{letter}", buffer, at)
        return at + struct.calcsize(f"<{letter}"), repr(number).encode()
    size, at = _length(buffer, at)
    value = bytes(buffer[at : at + size])
    if wire == "t":
        return at + size, _moment(value, is_date=is_date)
    return at + size, _time(value) if wire == "m" else value


def _length(buffer: bytearray, at: int) -> tuple[int, int]:
    octets = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(buffer[at], 0)
    first = at + 1
    return int.from_bytes(buffer[first : first + octets], "little") if octets else buffer[at], first + octets


def _moment(value: bytes, *, is_date: bool) -> bytes:
    year, month, day, hour, minute, second, us = struct.unpack("<HBBBBBI", value.ljust(11, b"\0"))
    date = f"{year:04}-{month:02}-{day:02}"
    return (date if is_date else f"{date} {hour:02}:{minute:02}:{second:02}.{us:06}").encode()


def _time(value: bytes) -> bytes:
    negative, days, hours, minutes, seconds, us = struct.unpack("<BIBBBI", value.ljust(12, b"\0"))
    return f"{'-' if negative else ''}{days * 24 + hours:02}:{minutes:02}:{seconds:02}.{us:06}".encode()


def _counted(text: bytes) -> bytes:
    size = len(text)
    if size < _NULL[0]:
        return bytes([size]) + text
    for mark, octets in ((b"\xfc", 2), (b"\xfd", 3)):
        if size < 1 << 8 * octets:
            return mark + size.to_bytes(octets, "little") + text
    return b"\xfe" + size.to_bytes(8, "little") + text
