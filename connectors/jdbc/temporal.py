"""Dates and times as drivers give them <-> Arrow, by the column. Pure; never parses row by row.

An instant is int64 microseconds since the epoch. Text must be ISO 8601; whole numbers are epoch milliseconds, which is
what the SQLite drivers of Java write.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.zone import instant_us

DAY_MS = 86_400_000
DAY_US = DAY_MS * 1000
LEAST_US = -210_866_803_200_000_000
"""PostgreSQL's first timestamp, 4713 BC. What is below came from a value that is no timestamp."""
NO_TIMESTAMP_US = -(2**63)
NO_DATE_DAYS = -(2**31)


class Misfit(Exception):  # noqa: N818 - becomes a SchemaError where table and column are known
    """Values of a column that have no lossless form; the text says why and what to do."""


def kinds(values: Sequence[Any]) -> set[type]:
    """The Python types among the values, null apart."""
    return set(map(type, values)) - {type(None)}


def special_instants(array: pa.Array, handling: str) -> pa.Array:
    """Timestamps in microseconds, those that are none (infinity, a zero date) handled as the setting says."""
    return _special(array, pa.int64(), LEAST_US, handling)


def special_dates(array: pa.Array, handling: str) -> pa.Array:
    """Dates as date32, likewise."""
    return _special(array, pa.int32(), LEAST_US // DAY_US, handling)


def _special(array: pa.Array, number: pa.DataType, least: int, handling: str) -> pa.Array:
    numbers = array.cast(number)
    lowest = pc.min(numbers).as_py()
    if lowest is None or lowest >= least:
        return array
    if handling == "fail":
        raise Misfit("it is infinity or a zero date; see zero.date.handling")
    instead = pa.scalar(None if handling == "null" else 0, number)
    return pc.if_else(pc.less(numbers, least), instead, numbers).cast(array.type)


def instants(values: Sequence[Any] | pa.Array, zone: ZoneInfo) -> pa.Array:
    """The instants of timestamps in any one form; wall clocks are read in `zone`. Misfit when the forms are mixed."""
    if isinstance(values, pa.Array):
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
    """Instants of naive timestamps(us): the second time of an autumn hour, forward over a spring gap, as Java."""
    if zone.key == "UTC":
        return walls.cast(pa.int64())
    naive = pl.Series(values=pl.from_arrow(walls))
    local = naive.dt.replace_time_zone(zone.key, ambiguous="latest", non_existent="null")
    result: pl.Series = local.dt.epoch("us")
    gaps = (local.is_null() & naive.is_not_null()).arg_true().to_list()
    if gaps:
        result = result.scatter(gaps, [instant_us(naive[i], zone) for i in gaps])
    return result.to_arrow().cast(pa.int64())


def timestamps(array: pa.Array, granularity: str, zone: ZoneInfo) -> pa.Array:
    """Instants in the form of a timestamp.granularity. Misfit: microseconds under connect_logical."""
    unit, _, form = granularity.partition("_")
    if granularity == "connect_logical":
        return whole(array, 1000, "microseconds").cast(pa.timestamp("ms", "UTC"))
    if form == "iso_datetime_string":
        return _iso(array, "us" if unit == "micros" else "ns", zone)
    scaled = array if unit == "micros" else pc.multiply_checked(array, 1000)
    return scaled if form == "long" else scaled.cast(pa.string())


def whole(array: pa.Array, divisor: int, lost: str) -> pa.Array:
    """The array divided by `divisor`. Misfit when that leaves a rest."""
    result = pc.divide(array, divisor)
    if pc.all(pc.equal(pc.multiply(result, divisor), array)).as_py() is False:
        raise Misfit(f"it has {lost}")
    return result


def dates(values: Sequence[Any]) -> pa.Array:
    """Dates as date32."""
    match kinds(values):
        case found if found <= {date}:
            return pa.array(values, pa.date32())
        case found if found == {str}:
            return pa.array(values, pa.string()).cast(pa.date32())
        case found if found == {int}:
            return dates_of_ms(pa.array(values, pa.int64()))
        case found:
            raise Misfit(f"a date comes as {_names(found)}")


def times(values: Sequence[Any] | pa.Array) -> pa.Array:
    """Times of day as time32(ms). Misfit for microseconds and for MySQL's times outside one day."""
    if isinstance(values, pa.Array):
        return whole(values.cast(pa.int64()), 1000, "microseconds").cast(pa.int32()).cast(pa.time32("ms"))
    found = kinds(values)
    if found <= {timedelta}:
        micros = pa.array(values, pa.duration("us")).cast(pa.int64())
        least_most = pc.min_max(micros).as_py()
        if found and not 0 <= least_most["min"] <= least_most["max"] < DAY_US:
            raise Misfit("the value is not a time of day between 00:00 and 24:00")
    elif found == {time}:
        micros = pa.array(values, pa.time64("us")).cast(pa.int64())
    else:
        raise Misfit(f"a time comes as {_names(found)}")
    return whole(micros, 1000, "microseconds").cast(pa.int32()).cast(pa.time32("ms"))


def instants_of_ms(numbers: pa.Array) -> pa.Array:
    """Instants of epoch milliseconds."""
    return pc.multiply_checked(numbers, 1000)


def dates_of_ms(numbers: pa.Array) -> pa.Array:
    """Dates of epoch milliseconds at midnight UTC. Misfit for other times of day."""
    return whole(numbers, DAY_MS, "a time of day").cast(pa.int32()).cast(pa.date32())


def instants_of_text(text: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Instants of ISO text, all with a zone or all without. There must be a value that is not null."""
    if has_zone(text.drop_null()[0].as_py()):
        return text.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return from_wall_clock(text.cast(pa.timestamp("us")), zone)


def has_zone(text: str) -> bool:
    """Whether an ISO timestamp says its zone."""
    return text.endswith(("Z", "z")) or "+" in text[10:] or "-" in text[11:]


def _iso(array: pa.Array, unit: str, zone: ZoneInfo) -> pa.Array:
    aware = pl.Series(values=pl.from_arrow(array.cast(pa.timestamp("us", "UTC"))))
    walls = aware.dt.convert_time_zone(zone.key).dt.replace_time_zone(None).to_arrow()
    return pc.replace_substring(walls.cast(pa.timestamp(unit)).cast(pa.string()), " ", "T")


def _names(found: set[type]) -> str:
    return " and ".join(sorted(k.__name__ for k in found))
