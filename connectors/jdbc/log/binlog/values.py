"""Makes the text that a query would give for values of MariaDB's and MySQL's binary log. Pure.

This decides what a value is; `columns` decodes usual types by the column, to the same values. Source: MariaDB's
documentation of the binary log ("Rows_event", "Data types in binlog"), MySQL's decimal and date formats
(strings/decimal.c, sql-common/my_time.c), MariaDB's UUID and INET types (plugin/type_uuid, plugin/type_inet).
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import groupby
from typing import Final, NamedTuple
from uuid import UUID

from connect.api.errors import SchemaError
from connectors.jdbc.log.binlog.json_values import json_text
from connectors.jdbc.log.binlog.row_layout import Width

Read = Callable[[bytes], bytes]
"""The function that returns the text of a stored value."""
ENUM, SET, STRING, BLOB, JSON = 247, 248, 254, 252, 245
VECTOR, BLOB_COMPRESSED, VARCHAR_COMPRESSED = 242, 140, 141
"""Values of these types are not read; the table map of a table that has one is, as other columns follow."""
_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_FRACTION_BYTES = (0, 1, 1, 2, 2, 3, 3)
_SIZES = {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 8: 8, 9: 3, 10: 3, 13: 1, 14: 3}
_NUMBERS = {1: "b", 2: "h", 3: "i", 8: "q"}
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the session runs in UTC


class DigitGroup(NamedTuple):
    """Describes digits of a decimal that are stored as one number."""

    digits: int
    octets: int


@dataclass(frozen=True, slots=True)
class LoggedColumn:
    """Holds what the catalog says of a column and the log leaves out.

    `members` are those of an ENUM or SET. `decode` decodes its character set; None: a query gives the bytes as they
    are. `bits_as_number` is true for BIT(1). `kind` is the type's name. `pad_bytes` is the size to which values are
    filled up whose last zero bytes the log leaves out.
    """

    name: str
    unsigned: bool = False
    members: tuple[str, ...] = ()
    decode: Callable[[bytes], str] | None = None
    bits_as_number: bool = False
    kind: str = ""
    pad_bytes: int = 0


def reader(kind: int, meta: bytes, column: LoggedColumn) -> Read:
    """Return the function that reads values of a column.

    `meta` are the bytes, at most two, that the table map has for the column. SchemaError: the type is not known here.
    """
    if kind in _NUMBERS:
        return _number(_NUMBERS[kind].upper() if column.unsigned else _NUMBERS[kind])
    made = _MADE.get(kind)
    if made is not None:
        return made(meta, column)
    raise SchemaError(
        f"The log holds a value of type {kind}, which is not known here.",
        field=column.name,
        fix="Leave the table out.",
    )


def width(kind: int, meta: bytes) -> Width:
    """Return how long the stored values of a column are, whose type `reader` knows."""
    if kind in _SIZES:
        return Width(_SIZES[kind])
    match kind:
        case 16:
            return Width((meta[1] * 8 + meta[0] + 7) // 8)
        case 17 | 18 | 19:
            return Width({17: 4, 18: 5, 19: 3}[kind] + fraction_bytes(meta[0]))
        case 246:
            return Width(sum(group.octets for group in digit_groups(meta[0], meta[1])))
        case 252 | 255 | 245:
            return Width(prefix=meta[0])
        case 254 if meta[0] in {ENUM, SET}:
            return Width(meta[1])
        case 254:
            return Width(prefix=1 if string_bytes(meta) < 256 else 2)
    return Width(prefix=1 if int.from_bytes(meta, "little") < 256 else 2)


def string_bytes(meta: bytes) -> int:
    """Return the most bytes that a CHAR or BINARY column can hold."""
    # The type's number and the length share bits (Field_string::save_field_metadata).
    return meta[1] | ((meta[0] & 0x30) ^ 0x30) << 4


def meta_size(kind: int) -> int:
    """Return how many bytes (`meta`) the table map has for a type beside its number."""
    if kind in {4, 5, 17, 18, 19, 252, 245, 255, 249, 250, 251, VECTOR, BLOB_COMPRESSED}:
        return 1
    return 2 if kind in {15, 16, 246, 253, 254, 247, 248, VARCHAR_COMPRESSED} else 0


def digit_groups(precision: int, scale: int) -> list[DigitGroup]:
    """Return the groups in which a decimal's digits are stored, the highest first, without groups that are empty."""
    whole, rest = divmod(precision - scale, 9)
    nines, last = divmod(scale, 9)
    sizes = [rest, *[9] * (whole + nines), last]
    return [DigitGroup(digits, _DECIMAL_BYTES[digits]) for digits in sizes if digits]


def fraction_bytes(digits: int) -> int:
    """Return how many bytes the fraction of a second takes."""
    return _FRACTION_BYTES[digits]


def _number(code: str) -> Read:
    form = struct.Struct("<" + code)
    return lambda value: b"%d" % form.unpack(value)[0]


def _float(code: str) -> Read:
    form = struct.Struct(code)
    return lambda value: repr(form.unpack(value)[0]).encode()


def _medium(*, unsigned: bool) -> Read:
    return lambda value: b"%d" % int.from_bytes(value, "little", signed=not unsigned)


def _decimal(precision: int, scale: int) -> Read:
    groups = digit_groups(precision, scale)

    def read(value: bytes) -> bytes:
        negative = not value[0] & 0x80
        raw = bytes([value[0] ^ 0x80, *value[1:]])
        if negative:
            raw = bytes(octet ^ 0xFF for octet in raw)
        digits, place = "", 0
        for group in groups:
            digits += f"{int.from_bytes(raw[place : place + group.octets], 'big'):0{group.digits}d}"
            place += group.octets
        text, fraction = digits[: precision - scale].lstrip("0") or "0", digits[precision - scale :]
        return f"{'-' * negative}{text}{'.' * bool(fraction)}{fraction}".encode()

    return read


def _year(value: bytes) -> bytes:
    return b"%d" % (value[0] + 1900 if value[0] else 0)


def _date(value: bytes) -> bytes:
    packed = int.from_bytes(value, "little")
    return f"{packed >> 9:04d}-{packed >> 5 & 15:02d}-{packed & 31:02d}".encode()


def _fraction(value: bytes, digits: int) -> str:
    return f".{int.from_bytes(value, 'big'):0{2 * len(value)}d}"[: digits + 1] if digits else ""


def _timestamp(digits: int) -> Read:
    def read(value: bytes) -> bytes:
        seconds = int.from_bytes(value[:4], "big")
        if not seconds:
            return b"0000-00-00 00:00:00"
        moment = _EPOCH + dt.timedelta(seconds=seconds)
        return f"{moment:%Y-%m-%d %H:%M:%S}{_fraction(value[4:], digits)}".encode()

    return read


def _datetime(digits: int) -> Read:
    def read(value: bytes) -> bytes:
        packed = int.from_bytes(value[:5], "big") - 0x8000000000
        day, clock = packed >> 17, packed & 0x1FFFF
        month = day >> 5
        text = f"{month // 13:04d}-{month % 13:02d}-{day & 31:02d}"
        time = f"{clock >> 12:02d}:{clock >> 6 & 63:02d}:{clock & 63:02d}"
        return f"{text} {time}{_fraction(value[5:], digits)}".encode()

    return read


def _time(digits: int) -> Read:
    size = _FRACTION_BYTES[digits]

    def read(value: bytes) -> bytes:
        packed = int.from_bytes(value, "big") - (0x800000 << 8 * size)
        sign, packed = "-" if packed < 0 else "", abs(packed)
        clock, rest = packed >> 8 * size, packed & ((1 << 8 * size) - 1)
        fraction = _fraction(rest.to_bytes(size, "big"), digits)
        return f"{sign}{clock >> 12 & 0x3FF:02d}:{clock >> 6 & 63:02d}:{clock & 63:02d}{fraction}".encode()

    return read


def _text(column: LoggedColumn) -> Read:
    decode = column.decode
    if column.kind in _BINARY_TEXT:
        return lambda value: _BINARY_TEXT[column.kind](value.ljust(column.pad_bytes, b"\0")).encode()
    if decode is not None:
        return lambda value: decode(value).encode()
    return lambda value: value.ljust(column.pad_bytes, b"\0")


def _bits(column: LoggedColumn) -> Read:
    return lambda value: b"%d" % int.from_bytes(value, "big") if column.bits_as_number else value


def _string(meta: bytes, column: LoggedColumn) -> Read:
    if meta[0] in {ENUM, SET}:
        return _members(column.members, is_set=meta[0] == SET)
    return _text(column)


def _members(members: Sequence[str], *, is_set: bool) -> Read:
    def read(value: bytes) -> bytes:
        number = int.from_bytes(value, "little")
        if is_set:
            return ",".join(name for place, name in enumerate(members) if number >> place & 1).encode()
        return members[number - 1].encode() if number else b""

    return read


def _inet6(value: bytes) -> str:
    """Return an IPv6 address as MariaDB writes it: the longest run of zeros, even a single one, becomes `::`; an IPv4
    address behind zeros keeps its dots.
    """
    words = struct.unpack(">8H", value)
    runs, at = [(0, 0)], 0
    for is_zero, run in groupby(words, lambda word: word == 0):
        size = len(list(run))
        if is_zero:
            runs.append((size, -at))
        at += size
    size, start = max(runs)
    start = -start
    if start == 0 and (size == 6 or (size == 5 and words[5] == 0xFFFF)):
        return f"::{'ffff:' * (size == 5)}{IPv4Address(value[12:])}"
    parts = [f"{word:x}" for word in words]
    return f"{':'.join(parts[:start])}::{':'.join(parts[start + size :])}" if size else ":".join(parts)


_BINARY_TEXT: Mapping[str, Callable[[bytes], str]] = {
    "uuid": lambda value: str(UUID(bytes=value)),
    "inet4": lambda value: str(IPv4Address(value)),
    "inet6": _inet6,
}
BINARY_SIZES: Final[Mapping[str, int]] = {"uuid": 16, "inet4": 4, "inet6": 16}
"""Holds the number of stored bytes of types whose values a query gives as text."""
_MADE: Mapping[int, Callable[[bytes, LoggedColumn], Read]] = {
    4: lambda _meta, _column: _float("<f"),
    5: lambda _meta, _column: _float("<d"),
    9: lambda _meta, column: _medium(unsigned=column.unsigned),
    10: lambda _meta, _column: _date,
    13: lambda _meta, _column: _year,
    14: lambda _meta, _column: _date,
    15: lambda _meta, column: _text(column),
    16: lambda _meta, column: _bits(column),
    17: lambda meta, _column: _timestamp(meta[0]),
    18: lambda meta, _column: _datetime(meta[0]),
    19: lambda meta, _column: _time(meta[0]),
    JSON: lambda _meta, _column: lambda value: json_text(value, _decimal),
    246: lambda meta, _column: _decimal(meta[0], meta[1]),
    BLOB: lambda _meta, column: _text(column),
    253: lambda _meta, column: _text(column),
    STRING: _string,
    255: lambda _meta, column: _text(column),
}
