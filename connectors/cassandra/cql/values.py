"""Decodes one value, as Cassandra stores and sends it, to the Python form of its Connect schema. Pure.

The driver's own types cannot hold every value (timestamps beyond the year 9999 fail their whole page), and the commit
log has the same bytes. Source: the serialisers of Cassandra 5.0; CQL binary protocol v5, section 6.
"""

from __future__ import annotations

import ipaddress
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from connect.api.errors import SchemaError
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.cursor import Cursor

Decode = Callable[[bytes], Any]
DATE_EPOCH: Final = 2**31
"""Dates are stored as unsigned day counts; 1970-01-01 has this number."""
_INT: Final = struct.Struct(">i")


class UnknownFieldError(SchemaError):
    """Says that a value has more fields than its type had when the schema was read, so one was added since."""


def decoder(cql: CqlType) -> Decode:
    """Return the function that decodes the bytes of a type's values to Python values.

    It raises ValueError for bytes that are no value of the type.
    """
    match cql.name:
        case "list" | "set":
            return _sequence(decoder(cql.parameters[0]))
        case "map":
            return _map(decoder(cql.parameters[0]), decoder(cql.parameters[1]))
        case "tuple":
            return _fields([f"field{i}" for i, _ in enumerate(cql.parameters, 1)], cql.parameters)
        case "udt":
            return _fields(cql.fields, cql.parameters)
        case "vector":
            return _vector(cql.parameters[0], cql.dimension)
    return _SIMPLE[cql.name]


def _number(form: str) -> Decode:
    layout = struct.Struct(form)

    def decode(data: bytes) -> Any:
        # Old tables may hold empty bytes as a value "empty", which no other system has; it is read as null.
        if not data:
            return None
        try:
            return layout.unpack(data)[0]
        except struct.error as error:
            raise ValueError(f"{len(data)} bytes are not a value of {layout.size}") from error

    return decode


def _uuid(data: bytes) -> str | None:
    return str(UUID(bytes=data)) if data else None


def _varint(data: bytes) -> str | None:
    return str(int.from_bytes(data, "big", signed=True)) if data else None


def _decimal(data: bytes) -> str | None:
    if not data:
        return None
    (scale,) = _INT.unpack_from(data)
    unscaled = int.from_bytes(data[4:], "big", signed=True)
    digits = tuple(map(int, str(abs(unscaled))))
    # The text is java.math.BigDecimal's: exact, with its scale, and with an exponent where there are many zeros.
    return str(Decimal((int(unscaled < 0), digits, -scale)))


def _inet(data: bytes) -> str | None:
    return str(ipaddress.ip_address(data)) if data else None


def _date(data: bytes) -> int | None:
    return int.from_bytes(data, "big") - DATE_EPOCH if data else None


def _counter(data: bytes) -> int | None:
    return int.from_bytes(data, "big", signed=True) if data else None


def _duration(data: bytes) -> dict[str, int] | None:
    if not data:
        return None
    cursor = Cursor(data)
    months, days, nanoseconds = (_zigzag(cursor.vint()) for _ in range(3))
    return {"months": months, "days": days, "nanoseconds": nanoseconds}


def _zigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def parts(data: bytes, at: int = 0) -> list[bytes | None]:
    """Return values that each have a 4-byte length before them, up to the data's end; a negative length is null."""
    found: list[bytes | None] = []
    while at < len(data):
        (size,) = _INT.unpack_from(data, at)
        at += 4
        found.append(None if size < 0 else data[at : at + size])
        if size > 0:
            at += size
    if at != len(data):
        raise ValueError(f"the last of {len(found)} values ends {at - len(data)} bytes behind the data")
    return found


def _sequence(element: Decode) -> Decode:
    return lambda data: [None if part is None else element(part) for part in parts(data, 4)]


def _map(key: Decode, value: Decode) -> Decode:
    def decode(data: bytes) -> dict[Any, Any]:
        found = parts(data, 4)
        pairs = zip(found[::2], found[1::2], strict=True)
        # A key that is a collection or user-defined type has no hash in its Python form, so _map_key refuses it.
        return {_map_key(key(k or b"")): None if v is None else value(v) for k, v in pairs}

    return decode


class _NegativeZero(float):
    """Stands for -0.0 as a map's key: Cassandra and Java tell it from 0.0, but Python holds both for equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NegativeZero)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash("-0.0")


def _map_key(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise SchemaError(
            "A map whose keys are collections, tuples or user-defined types has no form in Kafka Connect.",
            fix="Leave the column out by table.columns, which lists the others.",
        )
    if value == 0 and isinstance(value, float) and math.copysign(1.0, value) < 0:
        return _NegativeZero(value)
    return value


def _fields(names: Sequence[str], types: Sequence[CqlType]) -> Decode:
    decoders = [decoder(cql) for cql in types]

    def decode(data: bytes) -> Mapping[str, Any]:
        # A value that was written before fields were added to its type ends early; the missing fields are null.
        found = parts(data)
        if len(found) > len(decoders):
            raise UnknownFieldError(f"A value has {len(found)} fields, its type has {len(decoders)}.")
        found += [None] * (len(decoders) - len(found))
        return {
            name: None if part is None else decode_field(part)
            for name, part, decode_field in zip(names, found, decoders, strict=True)
        }

    return decode


def _vector(element: CqlType, dimension: int) -> Decode:
    decode_element, size = decoder(element), element.fixed_size

    def decode(data: bytes) -> list[Any] | None:
        if not data:
            return None
        if size is not None:
            return [decode_element(data[i * size : (i + 1) * size]) for i in range(dimension)]
        cursor = Cursor(data)
        return [decode_element(cursor.vbytes()) for _ in range(dimension)]

    return decode


_SIMPLE: Final[Mapping[str, Decode]] = {
    "ascii": bytes.decode, "text": bytes.decode, "blob": bytes, "empty": bytes, "custom": bytes,
    "boolean": _number(">?"), "tinyint": _number(">b"), "smallint": _number(">h"), "int": _number(">i"),
    "bigint": _number(">q"), "counter": _counter, "float": _number(">f"), "double": _number(">d"),
    "timestamp": _number(">q"), "time": _number(">q"), "date": _date, "uuid": _uuid, "timeuuid": _uuid,
    "inet": _inet, "varint": _varint, "decimal": _decimal, "duration": _duration,
}  # fmt: skip
