"""Reads dates and times of MySQL and MariaDB in the forms of Debezium's time.precision.mode. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api import time_types
from connect.api.arrow import arrow_type
from connect.api.time_types import TIME_TYPES, TimePrecision, encoded_times
from connectors.jdbc.debezium.binlog.kinds import BinlogKind
from connectors.jdbc.debezium.shared.handling_modes import Handling
from connectors.jdbc.values import typed_times
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import Raw
from connectors.jdbc.values.zone_columns import DAY_US

_MICROS = TIME_TYPES["MicroTimestamp"]
_ZONED = TIME_TYPES["ZonedTimestamp"]
_TIME = r"^(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)\.?(?P<fraction>\d*)$"
_YEAR_100_DAYS = -683_003
"""The year 100 begins on this day."""


def year(handling: Handling) -> BinlogKind:
    """Return the kind of YEAR."""

    def told(values: pa.Array) -> pa.Array:
        years = pc.if_else(pc.less(values, 100), _adjusted_years(values), values) if handling.adjusts_years else values
        return years.cast(pa.int32())

    return BinlogKind(TIME_TYPES["Year"], Raw.INTEGER, s.INT64, told, 0)


def date(handling: Handling) -> BinlogKind:
    """Return the kind of DATE."""
    schema = time_types.date_schema(handling.times)
    target = arrow_type(schema)

    def told(values: pa.Array) -> pa.Array:
        days = _adjusted(values, handling)
        if handling.times is TimePrecision.ISOSTRING:
            return typed_times.dates(days, schema)
        return days.cast(pa.int32()).cast(target)

    absent = "1970-01-01Z" if schema.type is s.Type.STRING else 0
    return BinlogKind(schema, Raw.DATE, s.DATE_SCHEMA, told, absent)


def time(digits: int, mode: TimePrecision) -> BinlogKind:
    """Return the kind of TIME, which is a span of up to 838 hours on either side of zero."""
    schema = time_types.time_schema(mode, digits)
    target = arrow_type(schema)

    def told(values: pa.Array) -> pa.Array:
        micros = micros_of_time(values)
        if mode is TimePrecision.CONNECT:
            if pc.any(pc.or_(pc.less(micros, 0), pc.greater_equal(micros, DAY_US))).as_py():
                raise Misfit("it is not a time of day; time.precision.mode=adaptive_time_microseconds holds it")
            return pc.divide(micros, 1000).cast(pa.int32()).cast(target)
        return typed_times.times(micros, schema)

    return BinlogKind(schema, Raw.TEXT, s.STRING, told, "00:00:00Z" if schema.type is s.Type.STRING else 0)


def datetime(digits: int, handling: Handling) -> BinlogKind:
    """Return the kind of DATETIME with `digits` digits of a second."""
    schema = time_types.timestamp_schema(handling.times, digits, zoned=False)
    target = arrow_type(schema)

    def told(values: pa.Array) -> pa.Array:
        micros = _adjusted_moments(values, handling)
        if schema.type is s.Type.STRING:
            return typed_times.timestamps(micros, schema, None)
        name = (schema.name or "").rpartition(".")[2]
        if name == "NanoTimestamp":
            return pc.multiply_checked(micros, 1000)
        return micros if name == "MicroTimestamp" else _floor_ms(micros).cast(target)

    absent = "1970-01-01T00:00:00Z" if schema.type is s.Type.STRING else 0
    return BinlogKind(schema, Raw.WALL_CLOCK, _MICROS, told, absent)


def timestamp(digits: int) -> BinlogKind:
    """Return the kind of TIMESTAMP, as text in UTC whatever the mode: from the log with all digits of the column."""

    def told(values: pa.Array, shown: int | None = None) -> pa.Array:
        return encoded_times(values.cast(pa.timestamp("us", "UTC")), _ZONED, digits=shown)

    return BinlogKind(
        _ZONED, Raw.INSTANT, _MICROS, told, "1970-01-01T00:00:00Z", logged=lambda values: told(values, digits)
    )


def micros_of_time(texts: pa.Array) -> pa.Array:
    """Return the microseconds of texts such as -838:59:59.5."""
    found = pc.extract_regex(texts, _TIME)
    if found.null_count > texts.null_count:
        raise Misfit("it is no time")
    sign, hours, minutes, seconds, fraction = found.flatten()
    parts = [pc.cast(part, pa.int64()) for part in (hours, minutes, seconds, pc.utf8_rpad(fraction, 6, "0"))]
    total = parts[0]
    for part, factor in zip(parts[1:], (60, 60, 1_000_000), strict=True):
        total = pc.add(pc.multiply(total, factor), part)
    return pc.if_else(pc.equal(sign, "-"), pc.negate(total), total)


def _floor_ms(micros: pa.Array) -> pa.Array:
    floored = np.floor_divide(pc.fill_null(micros, 0).to_numpy(zero_copy_only=False), 1000)
    return pa.array(floored, mask=micros.is_null().to_numpy(zero_copy_only=False))


def _adjusted(days: pa.Array, handling: Handling) -> pa.Array:
    """Return dates. If enable.time.adjuster is set, the years 0 to 99 become 1970 to 2069."""
    micros = pc.multiply(days.cast(pa.int32()).cast(pa.int64()), DAY_US)
    return pc.divide(_adjusted_moments(micros, handling), DAY_US).cast(pa.int32()).cast(pa.date32())


def _adjusted_moments(micros: pa.Array, handling: Handling) -> pa.Array:
    """Return moments. If enable.time.adjuster is set, the years 0 to 99 become 1970 to 2069."""
    if not handling.adjusts_years or not pc.any(pc.less(micros, _YEAR_100_DAYS * DAY_US)).as_py():
        return micros
    # NumPy is used, as Python's dates have no year 0.
    moments = pc.fill_null(micros, 0).to_numpy().astype("datetime64[us]")
    months = moments.astype("datetime64[M]")
    years = moments.astype("datetime64[Y]").astype(np.int64) + 1970
    later = np.where((years >= 0) & (years < 100), np.where(years < 70, 2000, 1900) * 12, 0)
    found = (months + later).astype("datetime64[us]") + (moments - months.astype("datetime64[us]"))
    return pa.array(found.astype(np.int64), mask=micros.is_null().to_numpy(zero_copy_only=False))


def _adjusted_years(years: pa.Array) -> pa.Array:
    return pc.add(years, pc.if_else(pc.less(years, 70), pa.scalar(2000, pa.int64()), pa.scalar(1900, pa.int64())))
