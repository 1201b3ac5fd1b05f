from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.follow.modes import whole_id
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw, TypeRules, plan_column

GOLDEN = Path(__file__).parents[2] / "golden" / "jdbc_sqlite_types.json"
TIMES = TimeRules(ZoneInfo("UTC"), "connect_logical")


def schema_of(kind: sa.types.TypeEngine, dialect: str = "postgresql", **rules: str) -> s.Schema:
    return plan_column("c", kind, nullable=False, rules=TypeRules(dialect_named(dialect).types, **rules)).schema


@pytest.mark.parametrize(
    ("kind", "dialect", "expected"),
    [
        (sa.SmallInteger(), "postgresql", s.INT16),
        (sa.Integer(), "postgresql", s.INT32),
        (sa.BigInteger(), "postgresql", s.INT64),
        (sa.SmallInteger(), "sqlite", s.INT64),
        (mysql.TINYINT(), "mysql", s.INT8),
        (mysql.TINYINT(unsigned=True), "mysql", s.INT16),
        (mysql.SMALLINT(unsigned=True), "mysql", s.INT32),
        (mysql.MEDIUMINT(), "mysql", s.INT32),
        (mysql.INTEGER(unsigned=True), "mysql", s.INT64),
        (mysql.FLOAT(), "mysql", s.FLOAT32),
        (mysql.DOUBLE(), "mysql", s.FLOAT64),
        (sa.REAL(), "postgresql", s.FLOAT32),
        (sa.REAL(), "sqlite", s.FLOAT64),
        (postgresql.DOUBLE_PRECISION(), "postgresql", s.FLOAT64),
        (sa.Boolean(), "postgresql", s.BOOLEAN),
        (sa.NUMERIC(12, 2), "postgresql", s.decimal(2, precision=12)),
        (sa.NUMERIC(), "postgresql", s.STRING),
        (sa.NUMERIC(100, 50), "postgresql", s.STRING),
        (sa.NUMERIC(77, 0), "postgresql", s.STRING),
        (postgresql.MONEY(), "postgresql", s.decimal(2, precision=19)),
        (postgresql.BIT(1), "postgresql", s.BOOLEAN),
        (postgresql.BIT(9), "postgresql", s.STRING),
        (postgresql.BIT(1, varying=True), "postgresql", s.STRING),
        (mysql.BIT(1), "mysql", s.INT8),
        (mysql.BIGINT(unsigned=True), "mysql", s.INT64),
        (sa.NUMERIC(), "sqlite", s.FLOAT64),
        (sa.VARCHAR(5), "postgresql", s.STRING),
        (postgresql.JSONB(), "postgresql", s.STRING),
        (postgresql.INET(), "postgresql", s.STRING),
        (postgresql.ARRAY(sa.Integer()), "postgresql", s.STRING),
        (postgresql.BYTEA(), "postgresql", s.BYTES),
        (mysql.BIT(8), "mysql", s.BYTES),
        (mysql.TINYBLOB(), "mysql", s.BYTES),
        (mysql.MEDIUMBLOB(), "mysql", s.BYTES),
        (mysql.LONGBLOB(), "mysql", s.BYTES),
        (sa.DATE(), "postgresql", s.DATE_SCHEMA),
        (sa.TIME(), "postgresql", s.TIME_SCHEMA),
        (sa.TIME(), "sqlite", s.STRING),
        (sa.TIMESTAMP(), "postgresql", s.TIMESTAMP_SCHEMA),
    ],
)
def test_each_column_type_has_its_connect_type(kind, dialect, expected):
    assert schema_of(kind, dialect) == expected


@pytest.mark.parametrize(
    ("precision", "scale", "mapping", "expected"),
    [
        (2, 0, "precision_only", s.INT8),
        (4, 0, "precision_only", s.INT16),
        (9, 0, "precision_only", s.INT32),
        (18, 0, "precision_only", s.INT64),
        (19, 0, "precision_only", s.decimal(0, precision=19)),
        (9, 2, "precision_only", s.decimal(2, precision=9)),
        (9, 2, "best_fit", s.FLOAT64),
        (19, 2, "best_fit", s.decimal(2, precision=19)),
        (19, 2, "best_fit_eager_double", s.FLOAT64),
        (5, -2, "best_fit", s.INT32),
        (9, 0, "none", s.decimal(0, precision=9)),
    ],
)
def test_numeric_follows_numeric_mapping(precision, scale, mapping, expected):
    assert schema_of(sa.NUMERIC(precision, scale), numeric=mapping) == expected


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [("none", s.STRING), ("precision_only", s.STRING), ("best_fit", s.FLOAT64), ("best_fit_eager_double", s.FLOAT64)],
)
def test_numeric_without_digits_is_text_or_a_float_where_floats_are_asked_for(mapping, expected):
    assert schema_of(sa.NUMERIC(), numeric=mapping) == expected


def test_unsigned_bigint_is_a_decimal_when_asked_for():
    assert schema_of(mysql.BIGINT(unsigned=True), "mysql", unsigned_bigint="precise") == s.decimal(0, precision=20)
    assert schema_of(mysql.BIGINT(), "mysql", unsigned_bigint="precise") == s.INT64


def test_decimal_is_never_mapped():
    assert schema_of(sa.DECIMAL(9, 0), "mysql", numeric="best_fit") == s.decimal(0, precision=9)


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("micros_long", s.INT64),
        ("nanos_long", s.INT64),
        ("micros_string", s.STRING),
        ("nanos_iso_datetime_string", s.STRING),
    ],
)
def test_a_timestamp_follows_its_granularity(granularity, expected):
    assert schema_of(sa.TIMESTAMP(), granularity=granularity) == expected


def test_a_zone_makes_an_instant_and_mysqls_timestamp_is_one():
    rules = TypeRules(dialect_named("mysql").types)
    assert (
        plan_column(
            "c", sa.DateTime(timezone=True), nullable=True, rules=TypeRules(dialect_named("postgresql").types)
        ).raw
        is Raw.INSTANT
    )
    assert plan_column("c", mysql.TIMESTAMP(fsp=6), nullable=True, rules=rules).raw is Raw.INSTANT
    assert plan_column("c", mysql.DATETIME(fsp=6), nullable=True, rules=rules).raw is Raw.WALL_CLOCK


def built(raw: Raw, schema: s.Schema, *values: object) -> list[object]:
    rows = RowFormat("shop.t", "t", [ColumnPlan("c", raw, schema.as_optional())], TIMES).build([values])
    return [row["c"] for row in rows.to_pylist()]


@pytest.mark.parametrize(
    ("raw", "schema", "value", "expected"),
    [
        (Raw.INTEGER, s.INT64, 2**63 - 1, 2**63 - 1),
        (Raw.FLOAT, s.FLOAT64, 3, 3.0),
        (Raw.DECIMAL, s.decimal(2, precision=10), 1.1, Decimal("1.10")),
        (Raw.DECIMAL, s.decimal(2, precision=10), 7, Decimal("7.00")),
        (Raw.DECIMAL, s.decimal(2, precision=10), Decimal("12345678.91"), Decimal("12345678.91")),
        (Raw.DECIMAL, s.INT32, Decimal(7), 7),
        (Raw.DECIMAL, s.FLOAT64, Decimal("1.5"), 1.5),
        (Raw.DECIMAL, s.FLOAT64, Decimal("Infinity"), float("inf")),
        (Raw.DECIMAL, s.STRING, Decimal("1E-8"), "0.00000001"),
        (Raw.DECIMAL, s.STRING, Decimal("1.50"), "1.50"),
        (Raw.DECIMAL, s.STRING, Decimal("NaN"), "NaN"),
        (Raw.DECIMAL, s.decimal(0, precision=20), 2**64 - 1, Decimal(2**64 - 1)),
        (Raw.BOOLEAN, s.BOOLEAN, 1, True),
        (Raw.BOOLEAN, s.BOOLEAN, False, False),
        (Raw.TEXT, s.STRING, "é漢😀", "é漢😀"),
        (Raw.BYTES, s.BYTES, b"\x00\xff", b"\x00\xff"),
    ],
)
def test_values_that_fit_are_kept(raw, schema, value, expected):
    assert built(raw, schema, value, None) == [expected, None]


@pytest.mark.parametrize(
    ("raw", "schema", "value"),
    [
        (Raw.INTEGER, s.INT64, "abc"),
        (Raw.INTEGER, s.INT64, 1.5),
        (Raw.INTEGER, s.INT8, 300),
        (Raw.INTEGER, s.INT64, 2**63),
        (Raw.FLOAT, s.FLOAT64, 2**53 + 1),
        (Raw.FLOAT, s.FLOAT64, "1.5"),
        (Raw.DECIMAL, s.decimal(2, precision=10), 1.123),
        (Raw.DECIMAL, s.decimal(2, precision=10), Decimal("1.123")),
        (Raw.DECIMAL, s.decimal(2, precision=10), "1.1"),
        (Raw.DECIMAL, s.INT8, Decimal("1.5")),
        (Raw.DECIMAL, s.decimal(0), Decimal("NaN")),
        (Raw.BOOLEAN, s.BOOLEAN, 2),
        (Raw.TEXT, s.STRING, b"bytes"),
        (Raw.TEXT, s.STRING, 5),
        (Raw.BYTES, s.BYTES, "text"),
        (Raw.DATE, s.DATE_SCHEMA, "2024-02-30"),
        (Raw.WALL_CLOCK, s.TIMESTAMP_SCHEMA, "2024-02-29 12:34:56.123456"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_with_table_column_and_kind(raw, schema, value):
    with pytest.raises(SchemaError) as error:
        built(raw, schema, None, value)
    assert error.value.field == "c"
    assert "shop.t" in str(error.value)
    assert type(value).__name__ in str(error.value)


def test_microseconds_name_the_setting_that_keeps_them():
    with pytest.raises(SchemaError, match=r"timestamp\.granularity=micros_long"):
        built(Raw.WALL_CLOCK, s.TIMESTAMP_SCHEMA, "2024-02-29 12:34:56.123456")


def test_null_in_a_column_that_is_not_null_is_an_error():
    with pytest.raises(SchemaError, match="NOT NULL"):
        RowFormat("t", "t", [ColumnPlan("c", Raw.INTEGER, s.INT64)], TIMES).build([(1, None)])


def test_no_values_are_no_rows():
    rows = RowFormat("t", "t", [ColumnPlan("c", Raw.TEXT, s.STRING)], TIMES).build(())
    assert (len(rows), rows.type.names) == (0, ["c"])


@pytest.mark.parametrize(("value", "expected"), [("18", 18), ("-7.00", -7), (Decimal("3.0"), 3), (5, 5)])
def test_an_id_may_come_as_the_text_of_a_decimal(value, expected):
    assert whole_id(value) == expected


@pytest.mark.parametrize("value", ["1.5", "NaN", "x", "9223372036854775808", Decimal("NaN"), 1.0, True])
def test_what_is_no_whole_id_is_refused(value):
    with pytest.raises(SchemaError, match="whole numbers"):
        whole_id(value)


def test_the_golden_file_is_readable_json():
    assert len(json.loads(GOLDEN.read_text(encoding="utf-8"))) > 30


def test_text_without_case_is_read_as_text():
    plan = plan_column("name", postgresql.CITEXT(), True, TypeRules(dialect_named("postgresql").types))
    assert (plan.raw, plan.projection) == (Raw.TEXT, Projection.TEXT)
