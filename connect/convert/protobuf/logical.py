"""Converts decimals, dates, times and timestamps to the columns of their messages, and back. Pure."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect.convert.plain.columns import unscaled_of
from connect.convert.vectors.cursor import Cursor
from connect.convert.vectors.pieces import int64_of

Numbers = npt.NDArray[np.int64]

_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000
_MS_NANOS: Final = 1_000_000
_SECOND_NANOS: Final = 1_000_000_000
_MAX_SECONDS: Final = 253_402_300_799
_MIN_SECONDS: Final = -62_135_596_800
_SHIFT_MAX: Final = 100
"""No column has more digits: a decimal that is moved by more of them has none left, or too many."""


def decimal_columns(array: pa.Array) -> list[pa.Array]:
    """Return unscaled bytes, number of digits, and scale of decimals without nulls."""
    whole = pa.decimal256(76, 0) if pa.types.is_decimal256(array.type) else pa.decimal128(38, 0)
    texts = pa.Array.from_buffers(whole, len(array), [None, array.buffers()[1]], offset=array.offset).cast(pa.utf8())
    digits = pc.utf8_length(pc.utf8_ltrim(pc.utf8_ltrim(texts, "-"), "0"))
    scale = pa.repeat(pa.scalar(array.type.scale, pa.int32()), len(array))
    return [unscaled_of(array), pc.max_element_wise(digits, 1), scale]


def date_columns(array: pa.Array) -> list[pa.Array]:
    """Return year, month and day of dates without nulls."""
    return [part.cast(pa.int32()) for part in (pc.year(array), pc.month(array), pc.day(array))]


def time_columns(array: pa.Array) -> list[pa.Array]:
    """Return hours, minutes, seconds and nanoseconds of times without nulls."""
    ms = int64_of(array)
    parts = ms // _HOUR_MS, ms // _MINUTE_MS % 60, ms // _SECOND_MS % 60, ms % _SECOND_MS * _MS_NANOS
    return [pa.array(part.astype(np.int32)) for part in parts]


def timestamp_columns(array: pa.Array) -> list[pa.Array]:
    """Return seconds since 1970 and nanoseconds of timestamps without nulls."""
    ms = int64_of(array)
    return [pa.array(ms // _SECOND_MS), pa.array((ms % _SECOND_MS * _MS_NANOS).astype(np.int32))]


def dates_of(columns: list[pa.Array], cursor: Cursor) -> pa.Array:
    """Return the dates; a row without a whole date fails."""
    year, month, day = (int64_of(column) for column in columns)
    days = _days(year, month, day)
    bad = (month < 1) | (month > 12) | (day < 1) | (day > 31) | (year < 1) | (year > 9999)
    following = _days(np.where(month == 12, year + 1, year), np.where(month == 12, 1, month + 1), np.ones_like(day))
    bad |= ~bad & (days >= following)
    if bad.any():
        cursor.fail(bad, "a google.type.Date is no date")
        days[bad] = 0
    return pa.array(days.astype(np.int32)).view(pa.date32())


def cut_to_ms(nanos: pa.Array) -> pa.Array:
    """Return nanoseconds without what is finer than milliseconds, as Java's converter reads them."""
    parts = int64_of(nanos)
    return pa.array(parts - parts % _MS_NANOS)


def times_of(columns: list[pa.Array], cursor: Cursor) -> pa.Array:
    """Return the times; a row with a part out of range, or finer than milliseconds, fails."""
    hours, minutes, seconds, nanos = (int64_of(column) for column in columns)
    bad = (hours < 0) | (hours > 23) | (minutes < 0) | (minutes > 59) | (seconds < 0) | (seconds > 59)
    bad |= (nanos < 0) | (nanos >= _SECOND_NANOS)
    cursor_fail(cursor, bad, "a google.type.TimeOfDay is no time of a day")
    _check_whole(nanos, cursor)
    ms = hours * _HOUR_MS + minutes * _MINUTE_MS + seconds * _SECOND_MS + nanos // _MS_NANOS
    ms[bad] = 0
    return pa.array(ms.astype(np.int32)).view(pa.time32("ms"))


def timestamps_of(columns: list[pa.Array], cursor: Cursor) -> pa.Array:
    """Return the timestamps; a row outside of the years 1 to 9999, or finer than milliseconds, fails."""
    seconds, nanos = (int64_of(column) for column in columns)
    bad = (seconds < _MIN_SECONDS) | (seconds > _MAX_SECONDS) | (nanos < 0) | (nanos >= _SECOND_NANOS)
    cursor_fail(cursor, bad, "a google.protobuf.Timestamp is out of range")
    _check_whole(nanos, cursor)
    ms = np.where(bad, 0, seconds) * _SECOND_MS + nanos // _MS_NANOS
    return pa.array(ms).view(pa.timestamp("ms", tz="UTC"))


def decimals_of(columns: list[pa.Array], cursor: Cursor, target: pa.DataType) -> pa.Array:
    """Return the decimals in the column's scale; a row that has more digits than it fails.

    This is a loop over rows: nothing in Arrow scales by a number of each row.
    """
    unscaled, _, scales = columns
    bad = np.zeros(len(cursor), np.bool_)
    numbers = []
    for row, (data, scale) in enumerate(zip(unscaled.to_pylist(), scales.to_pylist(), strict=True)):
        number = int.from_bytes(data, "big", signed=True)
        shift = target.scale - scale
        if shift > _SHIFT_MAX:
            number, rest = 0, number
        else:
            number, rest = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10 ** min(-shift, _SHIFT_MAX))
        bad[row] = rest != 0 or abs(number) >= 10**target.precision
        numbers.append(0 if bad[row] else number)
    cursor_fail(cursor, bad, f"a decimal does not fit {target} whole")
    width = target.byte_width
    data = b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(target, len(numbers), [None, pa.py_buffer(data)])


def cursor_fail(cursor: Cursor, bad: npt.NDArray[np.bool_], reason: str) -> None:
    """Note bad rows, if there are any."""
    if bad.any():
        cursor.fail(bad, reason)


def _check_whole(nanos: Numbers, cursor: Cursor) -> None:
    cursor_fail(
        cursor,
        nanos % _MS_NANOS != 0,
        "a time is finer than milliseconds, which Connect keeps; converter.coercion=java cuts it off",
    )


def _days(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    """Return the days since 1970 of a date in the Gregorian calendar.

    The year starts in March here, so that leap days come last.
    """
    shifted = np.where(month <= 2, year - 1, year)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * np.where(month > 2, month - 3, month + 9) + 2) // 5 + day - 1
    of_era_days = of_era * 365 + of_era // 4 - of_era // 100 + of_year
    days: Numbers = era * 146_097 + of_era_days - 719_468
    return days
