"""Years of two digits of MySQL and MariaDB become those of 1970 to 2069, as Debezium's time adjuster has them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from connect.api.time_types import TimePrecision
from connectors.jdbc.debezium.binlog import moments
from connectors.jdbc.debezium.shared.handling_modes import Handling

HANDLING = Handling(times=TimePrecision.ADAPTIVE_TIME_MICROSECONDS)
DAY_US = 86_400_000_000
YEARS = [
    ("0000-02-29", "2000-02-29"), ("0000-12-31", "2000-12-31"), ("0001-01-01", "2001-01-01"),
    ("0069-12-31", "2069-12-31"), ("0070-01-01", "1970-01-01"), ("0096-02-29", "1996-02-29"),
    ("0099-12-31", "1999-12-31"), ("0100-01-01", "0100-01-01"), ("2024-02-29", "2024-02-29"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), YEARS)
def test_a_date_of_two_digits_is_of_this_or_the_last_century(given: str, expected: str):
    days = pa.array([None, np.datetime64(given).astype(int)], pa.int32()).cast(pa.date32())
    told = moments.date(HANDLING).told(days)
    assert told.cast(pa.int32()).to_pylist() == [None, (dt.date.fromisoformat(expected) - dt.date(1970, 1, 1)).days]
    kept = moments.date(Handling(times=HANDLING.times, adjusts_years=False)).told(days)
    assert kept.cast(pa.int32()).to_pylist() == days.cast(pa.int32()).to_pylist()


@pytest.mark.parametrize(("given", "expected"), YEARS)
def test_a_moment_keeps_its_time_of_day(given: str, expected: str):
    given_us, expected_us = (np.datetime64(f"{day}T23:59:59.000001", "us").astype(int) for day in (given, expected))
    told = moments.datetime(6, HANDLING).told(pa.array([None, given_us], pa.int64()))
    assert told.to_pylist() == [None, expected_us]
