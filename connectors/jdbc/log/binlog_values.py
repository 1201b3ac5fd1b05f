"""Values of MariaDB's and MySQL's binary log -> the text that a query would give for them. Pure.

A row leaves as a row of the text protocol, so that the log and the first read share the way into Arrow, and a value is
the same from both. Source: MariaDB's documentation of the binary log ("Rows_event", "Data types in binlog") and MySQL's
decimal and date formats (strings/decimal.c, sql-common/my_time.c).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from connect.api.errors import SchemaError

Value = tuple[bytes, int]
"""The text of a value, and the place behind it."""
Read = Callable[[bytes, int], Value]
_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
NULL = b"\xfb"
_FRACTION_BYTES = (0, 1, 1, 2, 2, 3, 3)
ENUM, SET, STRING, BLOB, JSON = 247, 248, 254, 252, 245
_NUMBERS = {1: "b", 2: "h", 3: "i", 8: "q"}


@dataclass(frozen=True, slots=True)
class LoggedColumn:
    """What the catalog says of a column and the log leaves out.

    `members`: of an ENUM or SET. `codec`: Python's name of a text column's character set, empty where the bytes are
    what a query gives. `bits_as_number`: BIT(1).
    """

    name: str
    unsigned: bool = False
    members: tuple[str, ...] = ()
    codec: str = ""
    bits_as_number: bool = False
    kind: str = ""


def counted(value: bytes) -> bytes:
    """A value as the text protocol holds it, behind its length."""
    size = len(value)
    if size < 0xFB:
        return bytes((size,)) + value
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size) + value
    if size < 1 << 24:
        return b"\xfd" + struct.pack("<I", size)[:3] + value
    return b"\xfe" + struct.pack("<Q", size) + value


def reader(kind: int, meta: bytes, column: LoggedColumn) -> Read:
    """How values of a column are read. `meta`: the table map's two or less bytes. SchemaError: an unknown type."""
    if column.kind in {"uuid", "inet4", "inet6"}:
        raise SchemaError(
            f"The log holds {column.kind.upper()} in the form of the server's storage, which is not known here.",
            field=column.name,
            fix="Leave the table out, or keep the column as CHAR or BINARY.",
        )
    if kind in _NUMBERS:
        return _number(_NUMBERS[kind].upper() if column.unsigned else _NUMBERS[kind])
    made = _MADE.get(kind)
    if made is not None:
        return made(meta, column)
    fix = "Leave the table out." if kind != JSON else "MySQL keeps JSON in a form of its own in the log: leave it out."
    raise SchemaError(f"The log holds a value of type {kind}, which is not known here.", field=column.name, fix=fix)


def meta_size(kind: int) -> int:
    """How many bytes the table map has for a type beside its number."""
    if kind in {4, 5, 17, 18, 19, 252, 245, 255, 249, 250, 251}:
        return 1
    return 2 if kind in {15, 16, 246, 253, 254, 247, 248} else 0


def _number(code: str) -> Read:
    form = struct.Struct("<" + code)

    def read(data: bytes, at: int) -> Value:
        return b"%d" % form.unpack_from(data, at)[0], at + form.size

    return read


def _float(code: str) -> Read:
    form = struct.Struct(code)

    def read(data: bytes, at: int) -> Value:
        return repr(form.unpack_from(data, at)[0]).encode(), at + form.size

    return read


def _medium(*, unsigned: bool) -> Read:
    def read(data: bytes, at: int) -> Value:
        return b"%d" % int.from_bytes(data[at : at + 3], "little", signed=not unsigned), at + 3

    return read


def _decimal(precision: int, scale: int) -> Read:
    whole = precision - scale
    sizes = [(whole % 9, _DECIMAL_BYTES[whole % 9]), *([(9, 4)] * (whole // 9))]
    parts = [*sizes, *([(9, 4)] * (scale // 9)), (scale % 9, _DECIMAL_BYTES[scale % 9])]
    count = len(sizes)
    total = sum(size for _, size in parts)

    def read(data: bytes, at: int) -> Value:
        raw = bytearray(data[at : at + total])
        negative = not raw[0] & 0x80
        raw[0] ^= 0x80
        if negative:
            raw = bytearray(octet ^ 0xFF for octet in raw)
        digits, place = [], 0
        for width, size in parts:
            digits.append(f"{int.from_bytes(raw[place : place + size], 'big'):0{width}d}" if width else "")
            place += size
        text = "".join(digits[:count]).lstrip("0") or "0"
        fraction = "".join(digits[count:])
        return f"{'-' * negative}{text}{'.' * bool(fraction)}{fraction}".encode(), at + total

    return read


def _year(data: bytes, at: int) -> Value:
    return b"%d" % (data[at] + 1900 if data[at] else 0), at + 1


def _date(data: bytes, at: int) -> Value:
    packed = int.from_bytes(data[at : at + 3], "little")
    return f"{packed >> 9:04d}-{packed >> 5 & 15:02d}-{packed & 31:02d}".encode(), at + 3


def _fraction(data: bytes, at: int, digits: int) -> tuple[str, int]:
    size = _FRACTION_BYTES[digits]
    if not size:
        return "", at
    number = int.from_bytes(data[at : at + size], "big")
    return f".{number:0{2 * size}d}"[: digits + 1], at + size


def _timestamp(digits: int) -> Read:
    import datetime as dt

    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the session runs in UTC

    def read(data: bytes, at: int) -> Value:
        seconds = int.from_bytes(data[at : at + 4], "big")
        fraction, end = _fraction(data, at + 4, digits)
        if not seconds:
            return b"0000-00-00 00:00:00", end
        return f"{epoch + dt.timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}{fraction}".encode(), end

    return read


def _datetime(digits: int) -> Read:
    def read(data: bytes, at: int) -> Value:
        packed = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        fraction, end = _fraction(data, at + 5, digits)
        day, clock = packed >> 17, packed & 0x1FFFF
        month = day >> 5
        text = f"{month // 13:04d}-{month % 13:02d}-{day & 31:02d}"
        return f"{text} {clock >> 12:02d}:{clock >> 6 & 63:02d}:{clock & 63:02d}{fraction}".encode(), end

    return read


def _time(digits: int) -> Read:
    size = _FRACTION_BYTES[digits]

    def read(data: bytes, at: int) -> Value:
        packed = int.from_bytes(data[at : at + 3 + size], "big") - (0x800000 << 8 * size)
        sign, packed = "-" if packed < 0 else "", abs(packed)
        clock, rest = packed >> 8 * size, packed & ((1 << 8 * size) - 1)
        fraction = f".{rest:0{2 * size}d}"[: digits + 1] if size else ""
        text = f"{sign}{clock >> 12 & 0x3FF:02d}:{clock >> 6 & 63:02d}:{clock & 63:02d}{fraction}"
        return text.encode(), at + 3 + size

    return read


def _text(length_bytes: int, column: LoggedColumn) -> Read:
    codec = column.codec

    def read(data: bytes, at: int) -> Value:
        start = at + length_bytes
        end = start + int.from_bytes(data[at:start], "little")
        value = data[start:end]
        return (value.decode(codec).encode() if codec else value), end

    return read


def _bits(size: int, column: LoggedColumn) -> Read:
    def read(data: bytes, at: int) -> Value:
        value = data[at : at + size]
        return (b"%d" % int.from_bytes(value, "big") if column.bits_as_number else value), at + size

    return read


def _string(meta: bytes, column: LoggedColumn) -> Read:
    # The type's number and the length share bits (Field_string::save_field_metadata).
    if meta[0] in {ENUM, SET}:
        return _members(meta[1], column, is_set=meta[0] == SET)
    length = meta[1] | ((meta[0] & 0x30) ^ 0x30) << 4
    return _text(1 if length < 256 else 2, column)


def _members(size: int, column: LoggedColumn, *, is_set: bool) -> Read:
    members: Sequence[str] = column.members

    def read(data: bytes, at: int) -> Value:
        number = int.from_bytes(data[at : at + size], "little")
        if is_set:
            text = ",".join(name for place, name in enumerate(members) if number >> place & 1)
        else:
            text = members[number - 1] if number else ""
        return text.encode(), at + size

    return read


_MADE: Mapping[int, Callable[[bytes, LoggedColumn], Read]] = {
    4: lambda _meta, _column: _float("<f"),
    5: lambda _meta, _column: _float("<d"),
    9: lambda _meta, column: _medium(unsigned=column.unsigned),
    10: lambda _meta, _column: _date,
    13: lambda _meta, _column: _year,
    14: lambda _meta, _column: _date,
    15: lambda meta, column: _text(1 if int.from_bytes(meta, "little") < 256 else 2, column),
    16: lambda meta, column: _bits((meta[1] * 8 + meta[0] + 7) // 8, column),
    17: lambda meta, _column: _timestamp(meta[0]),
    18: lambda meta, _column: _datetime(meta[0]),
    19: lambda meta, _column: _time(meta[0]),
    246: lambda meta, _column: _decimal(meta[0], meta[1]),
    BLOB: lambda meta, column: _text(meta[0], column),
    253: lambda meta, column: _text(1 if int.from_bytes(meta, "little") < 256 else 2, column),
    STRING: _string,
    255: lambda meta, column: _text(meta[0], column),
}
