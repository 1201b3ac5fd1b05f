"""Makes the text that a query gives of MySQL's binary form of JSON, as the binary log holds it. Pure.

Source: MySQL's source documentation of the JSON binary format (sql-common/json_binary.h) and of the text that it makes
(sql-common/json_dom.cc). Integers are little-endian; offsets count from the beginning of the object or array.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from connectors.jdbc.values.temporal import Misfit

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY = range(4)
_LITERAL, _INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = (
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    15,
)
_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
_NUMBERS: Final = {_INT16: "<h", _UINT16: "<H", _INT32: "<i", _UINT32: "<I", _INT64: "<q", _UINT64: "<Q"}
_INLINED, _INLINED_IN_LARGE = {_LITERAL, _INT16, _UINT16}, {_INT32, _UINT32}
_DIGITS_BEFORE_EXPONENT = 15
"""A whole number with more digits, or one with as many zeros behind its point, is written with an exponent (dtoa.c)."""
_SIZE_BITS = 32
_TIMESTAMP, _DATE, _TIME, _DATETIME, _DECIMAL = 7, 10, 11, 12, 246


def json_text(stored: bytes, decimal: Callable[[int, int], Callable[[bytes], bytes]]) -> bytes:
    """Return the text of a stored document; `decimal` returns a reader of decimals of a precision and scale.

    Misfit: the bytes are no document.
    """
    if not stored:
        # What an ALTER TABLE without strict mode leaves.
        return b"null"
    try:
        return _Document(stored, decimal).text(stored[0], 1).encode()
    except (IndexError, struct.error, UnicodeDecodeError, KeyError, RecursionError) as error:
        raise Misfit("it is no JSON of MySQL's binary log") from error


class _Document:
    def __init__(self, stored: bytes, decimal: Callable[[int, int], Callable[[bytes], bytes]]) -> None:
        self._stored = stored
        self._decimal = decimal
        self._left_bytes = len(stored)

    def text(self, kind: int, at: int) -> str:
        """Return the value of a kind that lies at this place."""
        self._use(1)
        if kind <= _LARGE_ARRAY:
            return self._container(at, is_object=kind <= _LARGE_OBJECT, width=4 if kind & 1 else 2)
        if kind in _NUMBERS:
            return str(struct.unpack_from(_NUMBERS[kind], self._stored, at)[0])
        if kind == _LITERAL:
            return _LITERALS[self._stored[at]]
        if kind == _DOUBLE:
            return _double(struct.unpack_from("<d", self._stored, at)[0])
        if kind == _STRING:
            return _quoted(self._sized(at).decode())
        if kind == _OPAQUE:
            return self._opaque(self._stored[at], self._sized(at + 1))
        raise KeyError(kind)

    def _container(self, at: int, *, is_object: bool, width: int) -> str:
        number = "<I" if width == 4 else "<H"
        (count,) = struct.unpack_from(number, self._stored, at)
        keys_at = at + 2 * width
        values_at = keys_at + count * (width + 2) * is_object
        parts = []
        for i in range(count):
            entry = values_at + i * (width + 1)
            kind = self._stored[entry]
            place = entry + 1
            if kind not in _INLINED and not (width == 4 and kind in _INLINED_IN_LARGE):
                place = at + struct.unpack_from(number, self._stored, place)[0]
            value = self.text(kind, place)
            if is_object:
                key = keys_at + i * (width + 2)
                (start,) = struct.unpack_from(number, self._stored, key)
                (size,) = struct.unpack_from("<H", self._stored, key + width)
                self._use(size)
                value = f"{_quoted(self._stored[at + start : at + start + size].decode())}: {value}"
            parts.append(value)
        return f"{{{', '.join(parts)}}}" if is_object else f"[{', '.join(parts)}]"

    def _use(self, size: int) -> None:
        """Count what was read. A server stores each value once: one that many places name grows without an end."""
        self._left_bytes -= size
        if self._left_bytes < 0:
            raise IndexError(size)

    def _sized(self, at: int) -> bytes:
        """Return bytes behind their size, of which each byte but the last has its highest bit set."""
        size = shift = 0
        while True:
            octet = self._stored[at]
            size |= (octet & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if octet < 0x80:
                break
            if shift > _SIZE_BITS:
                raise IndexError(shift)
        if at + size > len(self._stored):
            raise IndexError(size)
        self._use(size)
        return self._stored[at : at + size]

    def _opaque(self, kind: int, value: bytes) -> str:
        if kind == _DECIMAL:
            return self._decimal(value[0], value[1])(value[2:]).decode()
        if kind in {_DATE, _DATETIME, _TIMESTAMP, _TIME}:
            return f'"{_moment(kind, struct.unpack("<q", value)[0])}"'
        return f'"base64:type{kind}:{base64.b64encode(value).decode()}"'


def _quoted(text: str) -> str:
    # MySQL escapes as Python does, and leaves DEL and everything above as it is.
    return json.dumps(text, ensure_ascii=False)


def _double(value: float) -> str:
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    minus = "-" * sign
    whole = "".join(map(str, digits))
    point = len(whole) + exponent
    if value == 0:
        return f"{minus}0.0"
    if not -_DIGITS_BEFORE_EXPONENT < point <= max(_DIGITS_BEFORE_EXPONENT, len(whole) - 1):
        return f"{minus}{whole[0]}{'.' * (len(whole) > 1)}{whole[1:]}e{point - 1}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{whole}"
    return f"{minus}{whole[:point].ljust(point, '0')}.{whole[point:] or '0'}"


def _moment(kind: int, packed: int) -> str:
    # my_datetime_packed and my_time_packed: microseconds in the lowest 24 bits.
    sign, packed = "-" if packed < 0 else "", abs(packed)
    micros, packed = packed & 0xFFFFFF, packed >> 24
    clock = f"{packed >> 12 & (0x3FF if kind == _TIME else 0x1F):02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}"
    if kind == _TIME:
        return f"{sign}{clock}.{micros:06d}"
    month, day = packed >> 22, packed >> 17 & 31
    date = f"{month // 13:04d}-{month % 13:02d}-{day:02d}"
    return date if kind == _DATE else f"{date} {clock}.{micros:06d}"
