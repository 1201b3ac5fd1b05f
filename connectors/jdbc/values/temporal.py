"""Converts dates and times between the forms that drivers give and Arrow, by the column. Pure; never parses row by row.

An instant is int64 microseconds since the epoch. Text must be ISO 8601; whole numbers are epoch milliseconds, which is
what the SQLite drivers of Java write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.values.java_zones import fixed_us
from connectors.jdbc.values.zone_columns import DAY_US, floor_divided, instants_of, walls_of

DAY_MS = 86_400_000
LEAST_US = -210_866_803_200_000_000
"""PostgreSQL's first timestamp is in 4713 BC. A smaller number comes from a value that is no timestamp."""
NO_TIMESTAMP_US = -(2**63)
NO_DATE_DAYS = -(2**31)
_LAST_US = 253_402_300_799_999_999
"""The year 9999 ends at this microsecond."""
_NO_MOMENT = re.compile(r"-?infinity|0000-.*|\d{4}-(?:00-\d\d|\d\d-00).*")

_SPECIAL = "it is infinity or a zero date; see zero.date.handling"


class Misfit(Exception):  # noqa: N818 - becomes a SchemaError where table and column are known
    """Says that values of a column have no lossless form, why, and what to do."""


def kinds(values: Sequence[Any]) -> set[type]:
    """Return the Python types of the values, without null."""
    return set(map(type, values)) - {type(None)}


def special_instants(array: pa.Array, handling: str) -> pa.Array:
    """Return timestamps in microseconds; special ones (infinity, a zero date) are handled as the setting says."""
    return _special(array, pa.int64(), LEAST_US, handling)


def special_dates(array: pa.Array, handling: str) -> pa.Array:
    """Return dates as date32, with special dates as `handling` says."""
    return _special(array, pa.int32(), LEAST_US // DAY_US, handling)


def _special(array: pa.Array, number: pa.DataType, least: int, handling: str) -> pa.Array:
    numbers = array.cast(number)
    lowest = pc.min(numbers).as_py()
    if lowest is None or lowest >= least:
        return array
    if handling == "fail":
        raise Misfit(_SPECIAL)
    instead = pa.scalar(None if handling == "null" else 0, number)
    return pc.if_else(pc.less(numbers, least), instead, numbers).cast(array.type)


def without_special(text: Sequence[Any], handling: str) -> Sequence[Any] | None:
    """Return dates and timestamps as text, with special ones handled as the setting says, or None if there are no
    special ones.
    """
    special = [isinstance(value, str) and _NO_MOMENT.fullmatch(value) is not None for value in text]
    if not any(special):
        return None
    if handling == "fail":
        raise Misfit(_SPECIAL)
    real = next((v for v, no in zip(text, special, strict=True) if not no and v is not None), "")
    epoch = "1970-01-01 00:00:00"[: max(10, len(real))] + ("+00" if has_zone(real) else "")
    instead = None if handling == "null" else epoch
    return [instead if no else value for value, no in zip(text, special, strict=True)]


def instants(values: Sequence[Any] | pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return the instants of timestamps in any one form; wall clocks are read in `zone`.

    Misfit when the forms are mixed.
    """
    if isinstance(values, pa.Array):
        if pa.types.is_date(values.type):
            return from_wall_clock(values.cast(pa.timestamp("us")), zone)
        return values.cast(pa.int64()) if values.type.tz else from_wall_clock(values, zone)
    match kinds(values):
        case found if not found:
            return pa.nulls(len(values), pa.int64())
        case found if found == {str}:
            return instants_of_text(pa.array(values, pa.string()), zone)
        case found if found == {int}:
            return instants_of_ms(pa.array(values, pa.int64()))
        case found if found == {datetime}:
            aware = next(v for v in values if v is not None).tzinfo is not None
            array = pa.array(values, pa.timestamp("us", "UTC" if aware else None))
            return array.cast(pa.int64()) if aware else from_wall_clock(array, zone)
        case found if found == {date}:
            return from_wall_clock(pa.array(values, pa.date32()).cast(pa.timestamp("us")), zone)
        case found:
            raise Misfit(f"timestamps come as {_names(found)} together")


def from_wall_clock(walls: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return the instants of naive timestamps (us) in a zone, as Java does.

    In an autumn hour that comes twice it is the second time; in a spring gap it moves forward. Misfit: a timestamp is
    after the year 9999, where zones except UTC have no rules.
    """
    numbers = walls.cast(pa.int64())
    if fixed_us(zone) is None and _is_after_9999(numbers):
        raise Misfit(f"it is after the year 9999, where {zone.key} has no rules; db.timezone=UTC reads it")
    return instants_of(numbers, zone)


def _is_after_9999(numbers: pa.Array) -> bool:
    latest = pc.max(numbers).as_py()
    return latest is not None and latest > _LAST_US


def timestamps(array: pa.Array, granularity: str, zone: ZoneInfo, *, cuts: bool = False) -> pa.Array:
    """Return instants in the form of a timestamp.granularity.

    Misfit: microseconds under connect_logical, unless it `cuts`.
    """
    unit, _, form = granularity.partition("_")
    if granularity == "connect_logical":
        return _millis(array, cuts=cuts).cast(pa.timestamp("ms", "UTC"))
    # A text of nanoseconds can hold every year; 64 bits of nanoseconds hold the years 1678 to 2261 only.
    if form == "iso_datetime_string":
        text = _iso(array, zone)
        return text if unit == "micros" else pc.binary_join_element_wise(text, "000", "")
    if form == "string":
        text = array.cast(pa.string())
        nanos = pc.if_else(pc.equal(array, 0), "0", pc.binary_join_element_wise(text, "000", ""))
        return text if unit == "micros" else nanos
    return array if unit == "micros" else _nanos(array)


def _nanos(micros: pa.Array) -> pa.Array:
    try:
        return pc.multiply_checked(micros, 1000)
    except pa.ArrowInvalid:
        raise Misfit("64 bits of nanoseconds hold the years 1678 to 2261; nanos_string holds all") from None


def _millis(micros: pa.Array, *, cuts: bool) -> pa.Array:
    # Microseconds are cut to the earlier millisecond, before 1970, too, as in Java.
    return floor_divided(micros, 1000) if cuts else whole(micros, 1000, "microseconds")


def whole(array: pa.Array, divisor: int, lost: str) -> pa.Array:
    """Return the array divided by `divisor`. Misfit: the division leaves a rest, which `lost` names in the message."""
    result = pc.divide(array, divisor)
    if pc.all(pc.equal(pc.multiply(result, divisor), array)).as_py() is False:
        raise Misfit(f"it has {lost}")
    return result


def dates(values: Sequence[Any]) -> pa.Array:
    """Return dates as date32."""
    match kinds(values):
        case found if found <= {date}:
            return pa.array(values, pa.date32())
        case found if found == {str}:
            return pa.array(values, pa.string()).cast(pa.date32())
        case found if found == {int}:
            return dates_of_ms(pa.array(values, pa.int64()))
        case found:
            raise Misfit(f"a date comes as {_names(found)}")


def times(values: Sequence[Any] | pa.Array, *, cuts: bool = False) -> pa.Array:
    """Return times of day as time32(ms). Misfit for microseconds, unless it `cuts`, and for times outside one day."""
    return _millis(_within_a_day(micros_of_day(values)), cuts=cuts).cast(pa.int32()).cast(pa.time32("ms"))


def micros_of_day(values: Sequence[Any] | pa.Array) -> pa.Array:
    """Return times as microseconds since midnight; MySQL's may be negative, or longer than a day."""
    return values.cast(pa.int64()) if isinstance(values, pa.Array) else _micros_of_day(values)


def _within_a_day(micros: pa.Array) -> pa.Array:
    least_most = pc.min_max(micros).as_py()
    if least_most["min"] is not None and not 0 <= least_most["min"] <= least_most["max"] < DAY_US:
        raise Misfit("it is not a time of day from 00:00:00 to before 24:00:00")
    return micros


def times_of_text(text: pa.Array) -> pa.Array:
    """Return times of day, 12:34:56.123456, as time64(us). Misfit for a time outside one day."""
    try:
        # Arrow parses a time only if a date is before it.
        moments = pc.binary_join_element_wise("1970-01-01", text, "T").cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        raise Misfit("it is not a time of day from 00:00:00 to before 24:00:00") from None
    return moments.cast(pa.int64()).cast(pa.time64("us"))


def _micros_of_day(values: Sequence[Any]) -> pa.Array:
    found = kinds(values)
    if found <= {timedelta}:
        return pa.array(values, pa.duration("us")).cast(pa.int64())
    if found == {str}:
        return times_of_text(pa.array(values, pa.string())).cast(pa.int64())
    if found == {time}:
        return pa.array(values, pa.time64("us")).cast(pa.int64())
    raise Misfit(f"a time comes as {_names(found)}")


def instants_of_ms(numbers: pa.Array) -> pa.Array:
    """Return instants of epoch milliseconds."""
    return pc.multiply_checked(numbers, 1000)


def dates_of_ms(numbers: pa.Array) -> pa.Array:
    """Return dates of epoch milliseconds at midnight UTC. Misfit for other times of day."""
    return whole(numbers, DAY_MS, "a time of day").cast(pa.int32()).cast(pa.date32())


def instants_of_text(text: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return instants of ISO text, all with a zone or all without. There must be a value that is not null."""
    if has_zone(text.drop_null()[0].as_py()):
        return text.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return from_wall_clock(text.cast(pa.timestamp("us")), zone)


def has_zone(text: str) -> bool:
    """Return True if an ISO timestamp has a zone or an offset."""
    return text.endswith(("Z", "z")) or "+" in text[10:] or "-" in text[11:]


def _iso(array: pa.Array, zone: ZoneInfo) -> pa.Array:
    if _is_after_9999(array):
        raise Misfit("it is after the year 9999, which ISO text does not hold")
    walls = walls_of(array, zone)
    return pc.replace_substring(walls.cast(pa.timestamp("us")).cast(pa.string()), " ", "T")


def _names(found: set[type]) -> str:
    return " and ".join(sorted(k.__name__ for k in found))
