"""Converts columns of wall clocks to instants and back, by the rules of a zone, a day at a time. Pure.

All times are int64 microseconds: an instant since the epoch, a wall clock as if its zone were UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.values.java_zones import EPOCH, fixed_us, instant_us, offset_us, wall_clock

DAY_US: Final = 86_400_000_000
_UTC: Final = ZoneInfo("UTC")
_EPOCH_DAY: Final = EPOCH.toordinal()
_FIRST_DAY: Final = date(1, 1, 3).toordinal() - _EPOCH_DAY
_LAST_DAY: Final = date(9999, 12, 29).toordinal() - _EPOCH_DAY
"""Days before the first and after the last are treated as these. Python's calendar has two more days on each side, and
no zone changes its offset there.
"""
_DAYS_KEPT: Final = 100_000
_Shift = Callable[[int, ZoneInfo], int]


def instants_of(walls: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return wall clocks as instants: the second time in an hour that comes twice, and forward over an hour that never
    was.
    """
    fixed = fixed_us(zone)
    if fixed is not None:
        return pc.subtract_checked(walls, fixed) if fixed else walls
    return _shifted(walls, zone, _to_instant)


def walls_of(instants: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return instants as wall clocks."""
    fixed = fixed_us(zone)
    if fixed is not None:
        return pc.add_checked(instants, fixed)
    return _shifted(instants, zone, offset_us)


def floor_divided(numbers: pa.Array, divisor: int) -> pa.Array:
    """Return the whole part of the quotients, rounded down before 1970, too."""
    result = pc.divide(numbers, divisor)
    return pc.subtract(result, pc.greater(pc.multiply(result, divisor), numbers).cast(pa.int64()))


def _shifted(times: pa.Array, zone: ZoneInfo, shift: _Shift) -> pa.Array:
    """Shift each time by what `shift` gives: asked once for a day, or for each time on a day that changes it."""
    days = floor_divided(times, DAY_US)
    days = pc.min_element_wise(pc.max_element_wise(days, _FIRST_DAY, skip_nulls=False), _LAST_DAY, skip_nulls=False)
    shifts = _each_once(days, lambda day: _of_day(day, zone, shift))
    changing = pc.and_(pc.is_null(shifts), pc.is_valid(times))
    if pc.any(changing).as_py():
        shifts = pc.coalesce(shifts, _each_once(pc.if_else(changing, times, _NULL), lambda us: shift(us, zone)))
    return pc.add_checked(times, shifts)


_NULL: Final = pa.scalar(None, pa.int64())


def _each_once(values: pa.Array, convert: Callable[[int], int | None]) -> pa.Array:
    distinct = pc.unique(values.drop_null())
    return pa.array([convert(value) for value in distinct.to_pylist()], pa.int64()).take(pc.index_in(values, distinct))


@lru_cache(_DAYS_KEPT)
def _of_day(day: int, zone: ZoneInfo, shift: _Shift) -> int | None:
    """Return how many microseconds are added to each time of the day, or None if not all times get the same."""
    first, last = shift(day * DAY_US, zone), shift((day + 1) * DAY_US - 1, zone)
    return first if first == last else None


def _to_instant(wall: int, zone: ZoneInfo) -> int:
    return instant_us(wall_clock(wall, _UTC), zone) - wall
