"""Checks time.precision.mode: Debezium's types of a column, and its values without loss."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, SchemaError
from connect.api.time_types import TIME_TYPES, TimePrecision
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.types import ColumnPlan, TypeRules, plan_column

UTC = ZoneInfo("UTC")
MOMENT = datetime(2024, 2, 29, 12, 34, 56, 123456)  # noqa: DTZ001 - as drivers give a wall clock
MOMENT_US = 1_709_210_096_123_456


def plan(kind: sa.types.TypeEngine, dialect: str, mode: str) -> ColumnPlan:
    return plan_column(
        "c", kind, nullable=True, rules=TypeRules(dialect_named(dialect).types, precision=TimePrecision(mode))
    )


def built(column: ColumnPlan, *values: object) -> list[object]:
    form = RowFormat("shop.t", "t", [column], TimeRules(UTC, "connect_logical"))
    return [row["c"] for row in form.build([values]).to_pylist()]


@pytest.mark.parametrize(
    ("kind", "dialect", "mode", "name", "value", "wanted"),
    [
        (sa.Date(), "postgresql", "adaptive", "Date", date(1, 1, 1), -719_162),
        (sa.Date(), "mysql", "isostring", "IsoDate", date(9999, 12, 31), "9999-12-31Z"),
        (postgresql.TIMESTAMP(precision=3), "postgresql", "adaptive", "Timestamp",
         MOMENT.replace(microsecond=123000), MOMENT_US // 1000),
        (postgresql.TIMESTAMP(), "postgresql", "adaptive", "MicroTimestamp", MOMENT, MOMENT_US),
        (postgresql.TIMESTAMP(), "postgresql", "nanoseconds", "NanoTimestamp", MOMENT, MOMENT_US * 1000),
        (postgresql.TIMESTAMP(timezone=True), "postgresql", "adaptive", "ZonedTimestamp",
         MOMENT.replace(tzinfo=UTC), "2024-02-29T12:34:56.123456Z"),
        (postgresql.TIMESTAMP(), "postgresql", "isostring", "IsoTimestamp", MOMENT, "2024-02-29T12:34:56.123456Z"),
        (postgresql.TIME(), "postgresql", "adaptive", "MicroTime", time(23, 59, 59, 999_999), 86_399_999_999),
        (postgresql.TIME(precision=2), "postgresql", "adaptive", "Time", time(0, 0, 1), 1000),
        (postgresql.TIME(precision=2), "postgresql", "adaptive_time_microseconds", "MicroTime", time(0, 0, 1), 10**6),
        (postgresql.TIME(), "postgresql", "isostring", "IsoTime", time(1, 2, 3), "01:02:03Z"),
        (postgresql.TIME(timezone=True), "postgresql", "adaptive", "ZonedTime", "00:30:00.5+02", "22:30:00.5Z"),
        (mysql.DATETIME(), "mysql", "adaptive", "Timestamp", MOMENT.replace(microsecond=0), 1_709_210_096_000),
        (mysql.DATETIME(fsp=6), "mariadb", "adaptive", "MicroTimestamp", MOMENT, MOMENT_US),
        (mysql.TIMESTAMP(fsp=3), "mariadb", "adaptive", "ZonedTimestamp",
         MOMENT.replace(microsecond=500_000), "2024-02-29T12:34:56.500Z"),
        (mysql.TIME(), "mysql", "adaptive_time_microseconds", "MicroTime",
         timedelta(hours=-838, minutes=-59, seconds=-59), -3_020_399_000_000),
        (mysql.YEAR(), "mysql", "adaptive", "Year", 1901, 1901),
        (sa.DateTime(), "sqlite", "adaptive", "MicroTimestamp", "2024-02-29 12:34:56.123456", MOMENT_US),
    ],
)  # fmt: skip
def test_a_column_has_debeziums_type_and_keeps_its_values(kind, dialect, mode, name, value, wanted):
    column = plan(kind, dialect, mode)
    assert column.schema == TIME_TYPES[name].as_optional()
    assert built(column, value, None) == [wanted, None]


def test_columns_of_the_arrow_readers_become_the_same():
    column = plan(postgresql.TIMESTAMP(), "postgresql", "adaptive")
    form = RowFormat("shop.t", "t", [column], TimeRules(UTC, "connect_logical"))
    array = pa.array([MOMENT_US, None], pa.timestamp("us"))
    assert form.of_driver_arrays([array]).field(0).to_pylist() == [MOMENT_US, None]


def test_connect_is_as_without_the_setting():
    assert plan(postgresql.TIMESTAMP(), "postgresql", "connect").schema == s.TIMESTAMP_SCHEMA.as_optional()
    assert plan(mysql.YEAR(), "mysql", "connect").schema == s.INT16.as_optional()


@pytest.mark.parametrize(
    ("kind", "dialect", "mode", "value"),
    [
        (postgresql.TIME(timezone=True), "postgresql", "adaptive", "24:00:00+00"),
        (mysql.TIME(), "mysql", "isostring", timedelta(hours=24)),
        (postgresql.TIMESTAMP(precision=3), "postgresql", "adaptive", MOMENT),
    ],
)
def test_a_value_without_a_form_in_the_type_names_table_and_column(kind, dialect, mode, value):
    with pytest.raises(SchemaError, match=r"shop\.t holds a value") as error:
        built(plan(kind, dialect, mode), value)
    assert error.value.field == "c"


def test_two_settings_of_the_same_thing_are_refused():
    given = {
        "connection.url": "jdbc:sqlite:/x.db", "mode": "bulk", "table.whitelist": "t", "topic.prefix": "p",
        "time.precision.mode": "adaptive",
    }  # fmt: skip
    assert JdbcSourceConfig.parse({**given, **EVERYWHERE}).time_precision is TimePrecision.ADAPTIVE
    assert (
        JdbcSourceConfig.parse({**EVERYWHERE, **given, "time.precision.mode": ""}).time_precision
        is TimePrecision.CONNECT
    )
    with pytest.raises(ConfigError, match="exclusive"):
        JdbcSourceConfig.parse({**EVERYWHERE, **given, "timestamp.granularity": "micros_long"})
    with pytest.raises(ConfigError, match=r"time\.precision\.mode"):
        JdbcSourceConfig.parse({**EVERYWHERE, **given, "time.precision.mode": "sometimes"})
