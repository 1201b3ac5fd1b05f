from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from connect.api.errors import SchemaError
from connectors.jdbc.database.cursor_comparison import EpochMilliseconds, IsoText, form_of_sqlite, now_us_of
from connectors.jdbc.values import temporal
from connectors.jdbc.values.java_zones import instant_us, wall_clock, zone
from connectors.jdbc.values.temporal import Misfit

UTC_ZONE, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
LEAP = 1_709_210_096_123_456  # 2024-02-29T12:34:56.123456Z


def us(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    "value",
    [
        "2024-02-29 12:34:56.123456",
        "2024-02-29T12:34:56.123456Z",
        "2024-02-29 13:34:56.123456+01:00",
        datetime.fromisoformat("2024-02-29T12:34:56.123456"),
        datetime(2024, 2, 29, 13, 34, 56, 123456, timezone(timedelta(hours=1))),
    ],
)
def test_every_form_of_an_instant_is_the_same_instant(value):
    assert temporal.instants([value, None], UTC_ZONE).to_pylist() == [LEAP, None]


@pytest.mark.parametrize("text", ["1582-10-15T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z"])
def test_nanoseconds_as_text_hold_every_year(text):
    given = us(text)
    array = pa.array([given, None])
    assert temporal.timestamps(array, "nanos_string", UTC_ZONE).to_pylist() == [str(given * 1000), None]
    iso = datetime.fromisoformat(text).replace(tzinfo=None).isoformat("T", "microseconds") + "000"
    assert temporal.timestamps(array, "nanos_iso_datetime_string", UTC_ZONE).to_pylist() == [iso, None]


def test_nanoseconds_as_numbers_say_which_years_they_hold():
    with pytest.raises(Misfit, match="1678 to 2261; nanos_string"):
        temporal.timestamps(pa.array([us("9999-12-31T23:59:59.999999Z")]), "nanos_long", UTC_ZONE)


def test_microseconds_are_cut_off_on_request_as_in_java():
    array = pa.array([1_999, 1_000, -1, -1_000, -310_476_303_876_544, None])
    cut = temporal.timestamps(array, "connect_logical", BERLIN, cuts=True)
    assert cut.cast(pa.int64()).to_pylist() == [1, 1, -1, -1, -310_476_303_877, None]
    assert temporal.times([time(12, 34, 56, 123456), None], cuts=True).to_pylist() == [time(12, 34, 56, 123000), None]


def test_numbers_are_epoch_milliseconds():
    assert temporal.instants([1709210096123], UTC_ZONE).to_pylist() == [1_709_210_096_123_000]


def test_an_autumn_hour_is_the_second_and_a_spring_gap_moves_forward_as_in_java():
    walls = ["2023-10-29 02:30:00", "2023-03-26 02:30:00", None, "2023-07-01 12:00:00"]
    read = temporal.instants(walls, BERLIN).to_pylist()
    assert read == [us("2023-10-29T01:30:00Z"), us("2023-03-26T01:30:00Z"), None, us("2023-07-01T10:00:00Z")]


@pytest.mark.parametrize(
    "wall", ["2023-10-29 02:30:00", "2023-03-26 02:30:00", "1965-05-05 01:02:03", "2024-02-29 00:00:00"]
)
def test_one_wall_clock_and_a_column_of_them_agree(wall):
    one = instant_us(datetime.fromisoformat(wall), BERLIN)
    assert temporal.instants([wall], BERLIN).to_pylist() == [one]


@pytest.mark.parametrize(
    "values", [["2024-01-01 00:00:00", 5], ["2024-01-01 00:00:00", "2024-01-01T00:00:00Z"], [1.5], ["soon"]]
)
def test_mixed_or_unreadable_forms_are_refused(values):
    with pytest.raises((Misfit, pa.ArrowException)):
        temporal.instants(values, UTC_ZONE)


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("micros_long", LEAP),
        ("nanos_long", LEAP * 1000),
        ("micros_string", str(LEAP)),
        ("nanos_string", str(LEAP * 1000)),
        ("micros_iso_datetime_string", "2024-02-29T13:34:56.123456"),
        ("nanos_iso_datetime_string", "2024-02-29T13:34:56.123456000"),
    ],
)
def test_each_granularity_keeps_the_microseconds(granularity, expected):
    array = pa.array([LEAP, None], pa.int64())
    assert temporal.timestamps(array, granularity, BERLIN).to_pylist() == [expected, None]


def test_connect_logical_has_milliseconds_and_refuses_more():
    written = temporal.timestamps(pa.array([LEAP // 1000 * 1000], pa.int64()), "connect_logical", UTC_ZONE)
    assert written.cast(pa.int64()).to_pylist() == [1709210096123]
    with pytest.raises(Misfit, match="microseconds"):
        temporal.timestamps(pa.array([LEAP], pa.int64()), "connect_logical", UTC_ZONE)


def test_instants_before_1970_keep_their_fraction():
    assert temporal.timestamps(pa.array([-500_000], pa.int64()), "micros_long", UTC_ZONE).to_pylist() == [-500_000]


@pytest.mark.parametrize("value", ["2024-02-29", date(2024, 2, 29), 1709164800000])
def test_every_form_of_a_date_is_the_same_date(value):
    assert temporal.dates([value, None]).to_pylist() == [date(2024, 2, 29), None]


@pytest.mark.parametrize("values", [["2024-02-30"], [1709164800001], [1.5], ["2024-02-29 10:00:00"]])
def test_what_is_no_date_is_refused(values):
    with pytest.raises((Misfit, pa.ArrowException)):
        temporal.dates(values)


def test_times_have_milliseconds_within_one_day():
    assert temporal.times([time(1, 2, 3, 4000), None]).to_pylist() == [time(1, 2, 3, 4000), None]
    assert temporal.times([timedelta(hours=1)]).to_pylist() == [time(1)]
    for bad in ([time(1, 2, 3, 4)], [timedelta(hours=25)], [timedelta(hours=-1)]):
        with pytest.raises(Misfit):
            temporal.times(bad)


@pytest.mark.parametrize(
    ("name", "key"),
    [("PST", "America/Los_Angeles"), ("JST", "Asia/Tokyo"), ("+02:00", "Etc/GMT-2"), ("GMT-3", "Etc/GMT+3")],
)
def test_javas_zone_ids_are_known(name, key):
    assert zone(name).key == key


@pytest.mark.parametrize(
    ("name", "ahead"),
    [
        ("+05:30", timedelta(hours=5, minutes=30)), ("UTC+05:30", timedelta(hours=5, minutes=30)),
        ("-0330", -timedelta(hours=3, minutes=30)), ("+01:02:03", timedelta(hours=1, minutes=2, seconds=3)),
        ("-18:00", -timedelta(hours=18)), ("+02:00", timedelta(hours=2)), ("UT", timedelta()),
    ],
)  # fmt: skip
def test_offsets_are_zones_as_in_java(name, ahead):
    tz = zone(name)
    assert wall_clock(LEAP, tz) == datetime.fromisoformat("2024-02-29T12:34:56.123456") + ahead
    walls = ["2024-02-29 12:34:56.123456", None, "1893-04-01 00:00:00", "9999-12-31 00:00:00"]
    plain = temporal.instants(walls, UTC_ZONE)
    moved = temporal.instants(walls, tz)
    assert [a and a - b for a, b in zip(plain.to_pylist(), moved.to_pylist(), strict=True)] == [
        None if w is None else ahead // timedelta(microseconds=1) for w in walls
    ]
    text = temporal.timestamps(moved, "micros_iso_datetime_string", tz).to_pylist()
    assert text[0] == "2024-02-29T12:34:56.123456"


@pytest.mark.parametrize("name", ["+19:00", "+05:60", "-18:00:01", "+5:3"])
def test_offsets_that_java_does_not_have_are_refused(name):
    with pytest.raises(ValueError, match=r"offset"):
        zone(name)


def test_a_wall_clock_comes_back():
    assert wall_clock(LEAP, BERLIN) == datetime.fromisoformat("2024-02-29T13:34:56.123456")


@pytest.mark.parametrize(
    ("sample", "instant", "low", "high"),
    [
        ("2024-02-29 00:00:00", LEAP, "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56.123456000"),
        ("2024-02-29 00:00:00", LEAP - 123_456, "2024-02-29 12:34:56", "2024-02-29 12:34:56.000000000"),
        ("2024-02-29T00:00:00.5", LEAP, "2024-02-29T12:34:56.123456", "2024-02-29T12:34:56.123456000"),
        ("2024-02-29T00:00:00Z", LEAP, "2024-02-29T12:34:57Z", "2024-02-29T12:34:56Z"),
        ("2024-02-29T00:00:00.000Z", LEAP, "2024-02-29T12:34:56.124Z", "2024-02-29T12:34:56.123Z"),
        ("2024-02-29", LEAP, "2024-03-01", "2024-02-29"),
        (1709164800000, LEAP, 1709210096124, 1709210096123),
    ],
)
def test_an_instant_is_compared_in_the_columns_own_form(sample, instant, low, high):
    edge = form_of_sqlite(sample, "ts", UTC_ZONE).edge(instant)
    assert (edge.low.value, edge.high.value) == (low, high)


@pytest.mark.parametrize(
    ("sample", "before"),
    [
        ("2024-02-29 00:00:00", "2024-02-29 12:34:56"),
        ("2024-02-29 00:00:00.5", "2024-02-29 12:34:56.123456"),
        ("2024-02-29T00:00:00Z", "2024-02-29T12:34:56Z"),
        ("2024-02-29", "2024-02-29"),
        (1709164800000, 1709210096123),
    ],
)
def test_the_running_second_of_a_coarse_column_is_left_for_later(sample, before):
    assert form_of_sqlite(sample, "ts", UTC_ZONE).before(LEAP).value == before


def test_the_form_is_recognised():
    assert form_of_sqlite(None, "ts", UTC_ZONE) == IsoText(" ", "", 19, UTC_ZONE)
    assert form_of_sqlite(5, "ts", UTC_ZONE) == EpochMilliseconds()
    for bad in ("29.02.2024", 1.5, "2024-02-29T00:00:00+02:00", b"x"):
        with pytest.raises(SchemaError, match="ts"):
            form_of_sqlite(bad, "ts", UTC_ZONE)


def test_the_databases_clock_is_cut_to_milliseconds():
    assert now_us_of("2024-02-29T12:34:56.123Z") == 1_709_210_096_123_000
    assert now_us_of(datetime.fromisoformat("2024-02-29T12:34:56.123456")) == 1_709_210_096_123_000


@pytest.mark.parametrize(
    "wall", ["2099-12-31 23:59:59", "2101-07-01 12:00:00", "2150-03-28 02:30:00", "9999-12-31 23:59:59.999999"]
)
def test_wall_clocks_after_2100_follow_the_rules_of_their_zone(wall):
    one = instant_us(datetime.fromisoformat(wall), BERLIN)
    read = temporal.instants([wall, None, "2024-07-01 12:00:00"], BERLIN)
    assert read.to_pylist() == [one, None, us("2024-07-01T10:00:00Z")]


@pytest.mark.parametrize("unit", ["micros", "nanos"])
def test_iso_text_after_2100_is_the_wall_clock_of_the_zone(unit):
    zeros = "" if unit == "micros" else "000"
    array = pa.array([us("2150-07-01T10:00:00Z"), None, us("2024-01-01T11:00:00Z")], pa.int64())
    text = temporal.timestamps(array, f"{unit}_iso_datetime_string", BERLIN).to_pylist()
    assert text == [f"2150-07-01T12:00:00.000000{zeros}", None, f"2024-01-01T12:00:00.000000{zeros}"]


def test_a_timestamp_after_the_year_9999_is_refused_where_it_has_no_form():
    late = pa.array([9_000_000_000_000_000_000], pa.int64())
    assert temporal.instants(late.cast(pa.timestamp("us")), UTC_ZONE) == late
    with pytest.raises(Misfit, match=r"after the year 9999.*db\.timezone=UTC"):
        temporal.instants(late.cast(pa.timestamp("us")), BERLIN)
    for tz in (UTC_ZONE, BERLIN):
        with pytest.raises(Misfit, match="after the year 9999"):
            temporal.timestamps(late, "micros_iso_datetime_string", tz)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([86_400_000_000], pa.int64()),
        pa.array([-1], pa.int64()),
        ["24:00:00"],
        ["-00:00:01"],
        ["838:59:59"],
        [timedelta(hours=24)],
        [timedelta(seconds=-1)],
    ],
)
def test_what_is_no_time_of_day_is_refused(values):
    with pytest.raises(Misfit, match=r"not a time of day from 00:00:00 to before 24:00:00"):
        temporal.times(values)


def test_times_as_text_are_times_of_day():
    read = temporal.times(["12:34:56.123", None, "23:59:59.999"]).to_pylist()
    assert read == [time(12, 34, 56, 123000), None, time(23, 59, 59, 999000)]


@pytest.mark.parametrize("special", ["infinity", "-infinity", "0000-00-00", "2024-00-15", "2024-01-00 00:00:00"])
def test_text_that_is_no_date_is_handled_as_the_setting_says(special):
    assert temporal.without_special(["2024-01-01", None], "fail") is None
    with pytest.raises(Misfit, match=r"zero\.date\.handling"):
        temporal.without_special([special], "fail")
    assert temporal.without_special([special, "2024-01-01"], "null") == [None, "2024-01-01"]
    assert temporal.without_special([special, "2024-01-01"], "epoch") == ["1970-01-01", "2024-01-01"]
    zoned = temporal.without_special([special, "2024-01-01 00:00:00+00"], "epoch")
    assert temporal.instants(zoned, UTC_ZONE).to_pylist() == [0, us("2024-01-01T00:00:00Z")]
