"""Debezium's types of times keep every digit of a second that Arrow has, or say that they cannot."""

from __future__ import annotations

from datetime import date, time

import pyarrow as pa
import pytest

from connect.api.arrow import arrow_type, connect_schema
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.time_types import TIME_TYPES, TimePrecision, encoded_times

CONNECT, ADAPTIVE = TimePrecision.CONNECT, TimePrecision.ADAPTIVE
LATE_US = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
FIRST_US = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("mode", "arrow", "name"),
    [
        (ADAPTIVE, pa.date32(), "Date"),
        (ADAPTIVE, pa.time32("s"), "Time"),
        (ADAPTIVE, pa.time64("us"), "MicroTime"),
        (ADAPTIVE, pa.time64("ns"), "NanoTime"),
        (ADAPTIVE, pa.timestamp("ms"), "Timestamp"),
        (ADAPTIVE, pa.timestamp("us"), "MicroTimestamp"),
        (ADAPTIVE, pa.timestamp("ns"), "NanoTimestamp"),
        (ADAPTIVE, pa.timestamp("ns", "Europe/Berlin"), "ZonedTimestamp"),
        (TimePrecision.ADAPTIVE_TIME_MICROSECONDS, pa.time32("ms"), "MicroTime"),
        (TimePrecision.ADAPTIVE_TIME_MICROSECONDS, pa.timestamp("ms"), "Timestamp"),
        (TimePrecision.MICROSECONDS, pa.time32("ms"), "MicroTime"),
        (TimePrecision.MICROSECONDS, pa.timestamp("ms"), "MicroTimestamp"),
        (TimePrecision.NANOSECONDS, pa.timestamp("us"), "NanoTimestamp"),
        (TimePrecision.NANOSECONDS, pa.date32(), "Date"),
        (TimePrecision.ISOSTRING, pa.date32(), "IsoDate"),
        (TimePrecision.ISOSTRING, pa.time64("us"), "IsoTime"),
        (TimePrecision.ISOSTRING, pa.timestamp("us"), "IsoTimestamp"),
    ],
)
def test_the_type_follows_the_mode_and_the_fractions_of_a_second(mode, arrow, name):
    schema = connect_schema(arrow, times=mode, optional=False)
    assert schema == TIME_TYPES[name]
    assert (schema.name, schema.version) == (f"io.debezium.time.{name}", 1)


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("Date", pa.array([-719_162, 2_932_896, None], pa.date32()), [-719_162, 2_932_896, None]),
        ("Time", pa.array([0, 86_399_999_000], pa.time64("us")), [0, 86_399_999]),
        ("MicroTime", pa.array([time(23, 59, 59, 999_999), None]), [86_399_999_999, None]),
        ("NanoTime", pa.array([time(0, 0, 0, 1)]), [1000]),
        ("Timestamp", pa.array([FIRST_US, -1000, None], pa.timestamp("us")), [FIRST_US // 1000, -1, None]),
        ("MicroTimestamp", pa.array([FIRST_US, -1, LATE_US], pa.timestamp("us")), [FIRST_US, -1, LATE_US]),
        ("MicroTimestamp", pa.array([1, None], pa.timestamp("s", "Asia/Tokyo")), [1_000_000, None]),
        ("NanoTimestamp", pa.array([2**53 + 1, -(2**63)], pa.timestamp("ns")), [2**53 + 1, -(2**63)]),
        ("ZonedTimestamp", pa.array([FIRST_US, LATE_US, None], pa.timestamp("us", "Europe/Berlin")),
         ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", None]),
        ("ZonedTimestamp", pa.array([-1, 10**9 + 120_000_000], pa.timestamp("ns", "UTC")),
         ["1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:01.12Z"]),
        ("IsoTimestamp", pa.array([0, 3], pa.timestamp("s")), ["1970-01-01T00:00:00Z", "1970-01-01T00:00:03Z"]),
        ("IsoDate", pa.array([date(1, 1, 1), date(2024, 2, 29), None]), ["0001-01-01Z", "2024-02-29Z", None]),
        ("IsoTime", pa.array([time(10, 0), time(1, 2, 3, 400_000)]), ["10:00:00Z", "01:02:03.4Z"]),
    ],
)  # fmt: skip
def test_values_become_the_numbers_and_texts_that_debezium_writes(name, given, wanted):
    array = encoded_times(given, TIME_TYPES[name])
    assert array.type == arrow_type(TIME_TYPES[name])
    assert array.to_pylist() == wanted


def test_a_text_shows_as_many_digits_as_its_column_has():
    moments = pa.array([1_500_000, 0, None], pa.timestamp("us", "UTC"))
    schema = TIME_TYPES["ZonedTimestamp"]
    shown = encoded_times(moments, schema, digits=3).to_pylist()
    assert shown == ["1970-01-01T00:00:01.500Z", "1970-01-01T00:00:00.000Z", None]
    with pytest.raises(SchemaError, match="more than 3 digits"):
        encoded_times(pa.array([1], pa.timestamp("us", "UTC")), schema, digits=3)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Time", pa.array([1], pa.time64("us"))),
        ("Timestamp", pa.array([1], pa.timestamp("us"))),
        ("MicroTimestamp", pa.array([1], pa.timestamp("ns"))),
        ("NanoTimestamp", pa.array([LATE_US], pa.timestamp("us"))),
        ("IsoTimestamp", pa.array([LATE_US + 1], pa.timestamp("us"))),
        ("ZonedTimestamp", pa.array([FIRST_US - 1], pa.timestamp("us", "UTC"))),
    ],
)
def test_what_a_type_has_no_place_for_is_refused_and_never_cut(name, given):
    with pytest.raises(SchemaError, match=f"io.debezium.time.{name}"):
        encoded_times(given, TIME_TYPES[name])


def test_columns_of_a_plug_in_keep_their_microseconds_in_structs_too():
    inner = pa.struct([("at", pa.timestamp("us")), ("n", pa.int64())])
    rows = [{"id": 1, "in": {"at": 5, "n": 2**53 + 1}}, None, {"id": None, "in": None}]
    array = pa.array(rows, pa.struct([("id", pa.int32()), ("in", inner)]))
    column = Column.from_arrow(array, times=ADAPTIVE)
    assert column.schema == connect_schema(array.type, times=ADAPTIVE)
    assert column.arrow().type == arrow_type(column.schema)
    assert list(column.rows()) == rows
    with pytest.raises(SchemaError, match=r"in\.at.*time\.precision\.mode=adaptive"):
        Column.from_arrow(array)
