"""Defines Debezium's types of dates and times, which keep micro- and nanoseconds where Connect's own end at
milliseconds.

A value is a plain number or text in every form (Arrow, Python, JSON, Avro, Protobuf). Only the schema's name says what
the number counts, so a program that does not know the name still passes the value on unchanged. Source:
io.debezium.time and the setting `time.precision.mode` of Debezium 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

NAMESPACE: Final = "io.debezium.time."
_BASES: Final = {
    "Date": s.Type.INT32, "Year": s.Type.INT32,
    "Time": s.Type.INT32, "MicroTime": s.Type.INT64, "NanoTime": s.Type.INT64,
    "Timestamp": s.Type.INT64, "MicroTimestamp": s.Type.INT64, "NanoTimestamp": s.Type.INT64,
    "MicroDuration": s.Type.INT64, "NanoDuration": s.Type.INT64, "Interval": s.Type.STRING,
    "ZonedTime": s.Type.STRING, "ZonedTimestamp": s.Type.STRING,
    "IsoDate": s.Type.STRING, "IsoTime": s.Type.STRING, "IsoTimestamp": s.Type.STRING,
}  # fmt: skip
TIME_TYPES: Final[Mapping[str, s.Schema]] = MappingProxyType(
    {name: s.Schema(base, name=NAMESPACE + name, version=1) for name, base in _BASES.items()}
)
"""Holds every type by the last part of its name: Date and Year count days and years, Time and Timestamp milliseconds.
"""


def time_type(name: str | None) -> s.Schema | None:
    """Return the schema in `TIME_TYPES` that has this full name; None when there is none."""
    return TIME_TYPES.get(name.removeprefix(NAMESPACE)) if name is not None and name.startswith(NAMESPACE) else None


_PARTS: Final = {"MicroTime": "us", "NanoTime": "ns", "MicroTimestamp": "us", "NanoTimestamp": "ns"}


class TimePrecision(StrEnum):
    """Tells which types dates and times become; the values are those of `time.precision.mode`."""

    CONNECT = "connect"
    """They become Connect's logical types; a value finer than milliseconds is a SchemaError."""
    ADAPTIVE = "adaptive"
    """They become the coarsest of Debezium's types that still holds the column's fractions of a second."""
    ADAPTIVE_TIME_MICROSECONDS = "adaptive_time_microseconds"
    """Times of day always become MicroTime; all others are as with `adaptive`."""
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    ISOSTRING = "isostring"
    """Each value becomes an ISO 8601 text in UTC."""


def date_schema(mode: TimePrecision) -> s.Schema:
    """Return the schema that dates have in this mode."""
    if mode is TimePrecision.CONNECT:
        return s.DATE_SCHEMA
    return TIME_TYPES["IsoDate" if mode is TimePrecision.ISOSTRING else "Date"]


def time_schema(mode: TimePrecision, digits: int) -> s.Schema:
    """Return the schema of times of day that have `digits` digits behind the second's point."""
    if mode is TimePrecision.CONNECT:
        return s.TIME_SCHEMA
    adapted = mode is TimePrecision.ADAPTIVE
    return TIME_TYPES[_sized(mode, digits if adapted else 6, "Time")]


def timestamp_schema(mode: TimePrecision, digits: int, *, zoned: bool) -> s.Schema:
    """Return the schema of timestamps that have `digits` digits behind the second's point. `zoned` ones are instants,
    others are readings of a wall clock.
    """
    if mode is TimePrecision.CONNECT:
        return s.TIMESTAMP_SCHEMA
    return TIME_TYPES["ZonedTimestamp" if zoned else _sized(mode, digits, "Timestamp")]


def _sized(mode: TimePrecision, digits: int, kind: str) -> str:
    match mode:
        case TimePrecision.ISOSTRING:
            return f"Iso{kind}"
        case TimePrecision.MICROSECONDS:
            return f"Micro{kind}"
        case TimePrecision.NANOSECONDS:
            return f"Nano{kind}"
    return kind if digits <= 3 else f"Micro{kind}" if digits <= 6 else f"Nano{kind}"


_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def schema_of_times(arrow: pa.DataType, mode: TimePrecision) -> s.Schema | None:
    """Return the schema of an Arrow type of dates or times; None for other types, and always in the mode CONNECT."""
    import pyarrow.types as t

    if mode is TimePrecision.CONNECT:
        return None
    if t.is_date(arrow):
        return date_schema(mode)
    if t.is_time(arrow):
        return time_schema(mode, _DIGITS[arrow.unit])
    if t.is_timestamp(arrow):
        return timestamp_schema(mode, _DIGITS[arrow.unit], zoned=arrow.tz is not None)
    return None


def encoded_times(array: pa.Array, schema: s.Schema, *, digits: int | None = None) -> pa.Array:
    """Return Arrow's dates, times of day or timestamps as the numbers or texts of one of `TIME_TYPES`.

    `digits` is how many digits behind the second's point a text shows; with None it shows as many as the value has.
    SchemaError: a value would lose something, or the type cannot hold it.
    """
    import pyarrow as pa

    name = (schema.name or "").removeprefix(NAMESPACE)
    try:
        if name.startswith(("Iso", "Zoned")):
            return _texts(array, name, digits)
        return _numbers(array, name, "date" if name == "Date" else _PARTS.get(name, "ms"))
    except pa.ArrowInvalid as error:
        raise SchemaError(f"A value of Arrow type {array.type} does not fit {schema.name} whole: {error}") from error


def _numbers(array: pa.Array, name: str, unit: str) -> pa.Array:
    import pyarrow as pa

    if unit == "date":
        return array.cast(pa.date32()).cast(pa.int32())
    if name.endswith("Timestamp"):
        return array.cast(pa.timestamp(unit, array.type.tz)).cast(pa.int64())
    return (
        array.cast(pa.time32(unit)).cast(pa.int32()) if unit == "ms" else array.cast(pa.time64(unit)).cast(pa.int64())
    )


_LAST_S: Final = 253_402_300_799
"""This is the last second of the year 9999; ISO 8601 has no year of four digits after it."""


def _texts(array: pa.Array, name: str, digits: int | None) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if name == "IsoDate":
        return pc.binary_join_element_wise(array.cast(pa.date32()).cast(pa.string()), pa.scalar("Z"), pa.scalar(""))
    if name.endswith("Timestamp"):
        _check_years(array)
        array = array.cast(pa.timestamp(array.type.unit))  # This is the same instant, written in UTC.
    texts = pc.replace_substring(array.cast(pa.string()), " ", "T")
    if array.type.unit in {"ms", "us", "ns"}:
        texts = _shortened(texts, array, digits)
    return pc.binary_join_element_wise(texts, pa.scalar("Z"), pa.scalar(""))


def _shortened(texts: pa.Array, array: pa.Array, digits: int | None) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not digits:
        return pc.replace_substring_regex(texts, pattern=r"\.?0+$", replacement="")
    rest = _DIGITS[array.type.unit] - digits
    if rest <= 0:
        return pc.binary_join_element_wise(texts, pa.scalar("0" * -rest), pa.scalar(""))
    if not pc.all(pc.ends_with(texts, "0" * rest)).as_py() and len(texts) > texts.null_count:
        raise pa.ArrowInvalid(f"it has more than {digits} digits of a second")
    return pc.utf8_slice_codeunits(texts, 0, -rest)


def _check_years(array: pa.Array) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    least, most = pc.min_max(pc.floor_temporal(array, unit="second").cast(pa.timestamp("s")).cast(pa.int64())).values()
    if least.is_valid and not -62_135_596_800 <= least.as_py() <= most.as_py() <= _LAST_S:
        raise pa.ArrowInvalid("it is not in the years 1 to 9999, which ISO text holds")
