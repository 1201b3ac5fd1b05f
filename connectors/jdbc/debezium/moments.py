"""Reads dates, times and intervals in the forms of Debezium's time.precision.mode and interval.handling.mode. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api import time_types
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.time_types import TIME_TYPES, TimePrecision, encoded_times
from connectors.jdbc.debezium.kinds import Kind, by_value
from connectors.jdbc.log.postgres.text import driver_array
from connectors.jdbc.values import typed_times
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.zone_columns import DAY_US

ZONED: Final = TIME_TYPES["ZonedTimestamp"]
_EPOCH: Final = "1970-01-01 00:00:00"
_FIRST_DAY, _LAST_DAY = -2147472691, 2146033979
"""Debezium has these days for infinity: -5877611-06-22 and 5877611-06-21."""
_LONGEST_MS: Final = 9223372036825200000
"""pgJDBC has this value for infinity, in milliseconds. Its value for minus infinity is a little further from zero."""
_SHORTEST_MS: Final = -9223372036832400000
_ISO_DAYS: Final = {"infinity": "+5877611-06-21Z", "-infinity": "-5877611-06-22Z"}
_ISO_MOMENTS: Final = {"infinity": "+292278994-08-16T23:00:00Z", "-infinity": "-292275055-05-16T23:00:00Z"}
_YEAR_10000_US: Final = 253_402_300_800_000_000
_YEAR_1_US: Final = -62_135_596_800_000_000
_OWN_TYPES: Final = "Connect's own types do not hold it; time.precision.mode=adaptive does"
_MONTH_DAYS: Final = 365.25 / 12
_INTERVAL = re.compile(
    r"(?:(-?\d+) years? ?)?(?:(-?\d+) mons? ?)?(?:(-?\d+) days? ?)?(?:([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?)?"
)


def date(mode: TimePrecision) -> Kind:
    """Return the kind of DATE."""
    schema = time_types.date_schema(mode)
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = values.cast(pa.string())
        far = pc.ends_with(texts, "infinity")
        days = driver_array(ColumnPlan("", Raw.DATE, schema), _without(texts, far))
        if mode is TimePrecision.CONNECT:
            _check_years(days.cast(pa.timestamp("us")).cast(pa.int64()), far)
            return days.cast(target)
        if mode is TimePrecision.ISOSTRING:
            micros = days.cast(pa.timestamp("us")).cast(pa.int64())
            return _as_text(micros, texts, lambda us: _iso(us, "D") + "Z", _ISO_DAYS)
        numbers = days.cast(pa.int32()).cast(pa.int64())
        return _with_infinity(numbers, texts, far, _FIRST_DAY, _LAST_DAY).cast(pa.int32()).cast(target)

    return Kind(schema, read, _epoch_of(schema))


def time(digits: int, mode: TimePrecision) -> Kind:
    """Return the kind of TIME with `digits` digits of a second."""
    schema = time_types.time_schema(mode, digits)
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        micros = driver_array(ColumnPlan("", Raw.TIME, schema), values).cast(pa.int64())
        if mode is TimePrecision.CONNECT:
            if pc.any(pc.greater_equal(micros, DAY_US)).as_py():
                raise Misfit(f"it is 24:00:00, and {_OWN_TYPES}")
            return pc.divide(micros, 1000).cast(pa.int32()).cast(target)
        if mode is TimePrecision.ISOSTRING:
            # 24:00:00 is the next midnight, as in Debezium.
            micros = pc.if_else(pc.equal(micros, DAY_US), pa.scalar(0, pa.int64()), micros)
        return typed_times.times(micros, schema)

    return Kind(schema, read, _epoch_of(schema))


def zoned_time() -> Kind:
    """Return the kind of TIMETZ, as text in UTC whatever the mode."""

    def read(values: pa.BinaryArray) -> pa.Array:
        return typed_times.zoned_times(values.cast(pa.string()))

    return Kind(TIME_TYPES["ZonedTime"], read, "00:00:00Z")


def timestamp(digits: int, mode: TimePrecision) -> Kind:
    """Return the kind of TIMESTAMP without a zone."""
    schema = time_types.timestamp_schema(mode, digits, zoned=False)
    target = arrow_type(schema)
    per_unit, is_text = _unit_of(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = values.cast(pa.string())
        far = pc.ends_with(texts, "infinity")
        moments = driver_array(ColumnPlan("", Raw.WALL_CLOCK, schema), _without(texts, far)).cast(pa.int64())
        if mode is TimePrecision.CONNECT:
            _check_years(moments, far)
        if is_text:
            return _as_text(moments, texts, lambda us: _iso_shortest(us) + "Z", _ISO_MOMENTS)
        scaled = _floor(moments, 1000) if per_unit == 1000 else pc.multiply_checked(moments, 1 if per_unit else 1000)
        return _with_infinity(scaled, texts, far, *_limits(schema)).cast(target)

    return Kind(schema, read, _epoch_of(schema))


def zoned_timestamp(digits: int) -> Kind:
    """Return the kind of TIMESTAMPTZ, as text in UTC whatever the mode."""
    unit = "s" if digits == 0 else "ms" if digits <= 3 else "us"

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = values.cast(pa.string())
        far = pc.ends_with(texts, "infinity")
        moments = driver_array(ColumnPlan("", Raw.INSTANT, ZONED), _without(texts, far, "+00"))
        try:
            made = encoded_times(moments, ZONED, digits={"s": None, "ms": 3, "us": 6}[unit])
        except SchemaError:
            made = _as_text(moments.cast(pa.int64()), texts, lambda us: _iso(us, unit) + "Z", {})
        return pc.if_else(far, texts, made)

    return Kind(ZONED, read, "1970-01-01T00:00:00Z")


def interval(mode: str) -> Kind:
    """Return the kind of INTERVAL: microseconds, with months of average length, or ISO text."""
    if mode == "string":
        schema = TIME_TYPES["Interval"]
        return Kind(schema, by_value(schema, interval_text), "P0Y0M0DT0H0M0S")
    schema = TIME_TYPES["MicroDuration"]
    return Kind(schema, by_value(schema, interval_micros), 0)


def interval_micros(text: str) -> int:
    """Return an interval in microseconds; a month counts as a twelfth of 365.25 days."""
    years, months, days, micros = _parts(text)
    return int((years * 12 + months) * _MONTH_DAYS * 86_400_000_000) + days * 86_400_000_000 + micros


def interval_text(text: str) -> str:
    """Return an interval as ISO 8601 writes it."""
    years, months, days, micros = _parts(text)
    sign = -1 if micros < 0 else 1
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    minus = "-" if sign < 0 and (seconds or fraction) else ""
    shown = f"{minus}{seconds}" + (f".{fraction:06d}".rstrip("0") if fraction else "")
    return f"P{years}Y{months}M{days}DT{sign * hours}H{sign * minutes}M{shown}S"


def _parts(text: str) -> tuple[int, int, int, int]:
    found = _INTERVAL.fullmatch(text.strip())
    if found is None:
        raise Misfit("it is no interval in PostgreSQL's form")
    years, months, days = (int(found[n] or 0) for n in (1, 2, 3))
    clock = (int(found[5] or 0) * 60 + int(found[6] or 0)) * 60 + int(found[7] or 0)
    micros = clock * 1_000_000 + int((found[8] or "0").ljust(6, "0")[:6])
    return years, months, days, -micros if found[4] == "-" else micros


def _check_years(micros: pa.Array, far: pa.Array) -> None:
    outside = pc.or_(pc.less(micros, _YEAR_1_US), pc.greater_equal(micros, _YEAR_10000_US))
    if pc.any(pc.or_(far, outside)).as_py():
        raise Misfit(f"it is infinity, or outside of the years 1 to 9999, and {_OWN_TYPES}")


def _without(texts: pa.Array, far: pa.Array, zone: str = "") -> pa.Array:
    if not pc.any(far).as_py():
        return texts.cast(pa.binary())
    return pc.if_else(far, pa.scalar(_EPOCH + zone), texts).cast(pa.binary())


def _with_infinity(numbers: pa.Array, texts: pa.Array, far: pa.Array, least: int, most: int) -> pa.Array:
    if not pc.any(far).as_py():
        return numbers
    limits = pc.if_else(pc.starts_with(texts, "-"), pa.scalar(least, pa.int64()), pa.scalar(most, pa.int64()))
    return pc.if_else(far, limits, numbers)


def _unit_of(schema: s.Schema) -> tuple[int, bool]:
    """Return how many microseconds the schema's unit has, or 0 if the unit is finer, and True if values are text."""
    if schema.type is s.Type.STRING:
        return 1, True
    name = (schema.name or "").rpartition(".")[2]
    return {"MicroTimestamp": 1, "NanoTimestamp": 0}.get(name, 1000), False


def _limits(schema: s.Schema) -> tuple[int, int]:
    if (schema.name or "").endswith((".MicroTimestamp", ".NanoTimestamp")):
        return -(2**63), 2**63 - 1
    return _SHORTEST_MS, _LONGEST_MS


def _floor(numbers: pa.Array, by: int) -> pa.Array:
    whole = numbers.to_numpy(zero_copy_only=False) if not numbers.null_count else None
    if whole is not None:
        return pa.array(whole // by)
    return pa.array([None if n is None else n // by for n in numbers.to_pylist()], pa.int64())


def _as_text(micros: pa.Array, texts: pa.Array, write: Callable[[int], str], far: Mapping[str, str]) -> pa.Array:
    made = [
        None if us is None else far.get(text) or write(us)
        for us, text in zip(micros.to_pylist(), texts.to_pylist(), strict=True)
    ]
    return pa.array(made, pa.string())


def _iso(us: int, unit: str) -> str:
    shown = str(np.datetime_as_string(np.datetime64(us, "us"), unit=unit))  # type: ignore[call-overload]  # the stubs want a literal for the unit
    if us >= _YEAR_10000_US:
        return f"+{shown}"
    year, rest = shown[1:].split("-", 1) if shown.startswith("-") else ("", "")
    return f"-{year:0>4}-{rest}" if year else shown


def _iso_shortest(us: int) -> str:
    return _iso(us, "us").rstrip("0").rstrip(".")


def _epoch_of(schema: s.Schema) -> object:
    if schema.type is not s.Type.STRING:
        return 0
    name = (schema.name or "").rpartition(".")[2]
    return {"IsoDate": "1970-01-01Z", "IsoTime": "00:00:00Z"}.get(name, "1970-01-01T00:00:00Z")
