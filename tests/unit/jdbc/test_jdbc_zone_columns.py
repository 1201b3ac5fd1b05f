"""Columns of wall clocks and instants go by the zone's rules as single values do, whatever a day brings."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.jdbc.values.java_zones import instant_us, wall_clock
from connectors.jdbc.values.zone_columns import DAY_US, floor_divided, instants_of, walls_of

# An hour, half an hour, changes at midnight, a day left out (Samoa), a zone of whole minutes until 1972.
ZONES = [
    ZoneInfo(name)
    for name in ("Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia", "Africa/Monrovia")
]
PYTHONS = st.datetimes(datetime(1, 1, 4), datetime(9999, 12, 28))  # noqa: DTZ001 - wall clocks
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001


def us(wall):
    passed = wall - EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


@settings(deadline=None)
@given(st.sampled_from(ZONES), st.lists(st.one_of(st.none(), PYTHONS)))
def test_a_column_is_what_each_value_is(zone, walls):
    numbers = pa.array([None if wall is None else us(wall) for wall in walls], pa.int64())
    assert instants_of(numbers, zone).to_pylist() == [None if w is None else instant_us(w, zone) for w in walls]
    assert walls_of(numbers, zone).to_pylist() == [
        None if n is None else us(wall_clock(n, zone)) for n in numbers.to_pylist()
    ]


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_every_half_hour_around_each_change_of_a_century_is_right(zone):
    begin = us(datetime(1945, 1, 1))  # noqa: DTZ001
    days = [begin + day * DAY_US for day in range(366 * 100)]
    offsets = [wall - day for wall, day in zip(walls_of(pa.array(days), zone).to_pylist(), days, strict=True)]
    changes = [day for day, one, other in zip(days, offsets, offsets[1:], strict=False) if one != other]
    assert changes
    near = [day + half * 1_800_000_000 for day in changes for half in range(-50, 100)]
    column = pa.array(near, pa.int64())
    wanted = [instant_us(wall_clock(wall, ZoneInfo("UTC")), zone) for wall in near]
    assert instants_of(column, zone).to_pylist() == wanted
    assert walls_of(column, zone).to_pylist() == [us(wall_clock(at, zone)) for at in near]


def test_times_beyond_pythons_calendar_have_the_offset_at_its_ends():
    zone = ZONES[0]
    first, last = -210_866_803_200_000_000, 253_402_300_799_999_999
    before, after = walls_of(pa.array([first, last]), zone).to_pylist()
    assert after - last == 3_600_000_000
    local_mean = datetime(1800, 1, 1, tzinfo=UTC).astimezone(zone).utcoffset()
    assert local_mean is not None
    assert before - first == local_mean.total_seconds() * 1_000_000


def test_division_rounds_down_before_1970_too():
    assert floor_divided(pa.array([-1, 0, 999, 1000, -1000, -1001, None]), 1000).to_pylist() == [
        -1, 0, 0, 1, -1, -2, None
    ]  # fmt: skip
