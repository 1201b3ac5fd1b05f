"""New columns of Debezium's JDBC sink have the types of the source's columns, and values the forms of these."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy.dialects import mysql as my
from sqlalchemy.dialects import postgresql as pg

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.time_types import TIME_TYPES
from connectors.jdbc.sink.debezium.column_types import column_types
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.value_forms import value_forms
from connectors.jdbc.sink.shape import Member, RecordPart
from connectors.jdbc.sink.texts import Zones, text_of
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import Raw

URLS = {"pg": "jdbc:postgresql://h/d", "my": "jdbc:mysql://h/d"}
POINT = s.struct({"x": s.FLOAT64, "y": s.FLOAT64, "wkb": s.BYTES}, name="io.debezium.data.geometry.Point")
WKB = bytes.fromhex("0101000000000000000000f03f0000000000000040")
EXTENDED = bytes.fromhex("0101000020e6100000000000000000f03f0000000000000040")


def told(schema: s.Schema, kind: str, length: int = 0) -> s.Schema:
    own = {"__debezium.source.column.type": kind, "__debezium.source.column.length": str(length)}
    return replace(schema, parameters={**schema.parameters, **own})


def formed(url: str, schema: s.Schema, values: list[Any]) -> list[Any]:
    config = DebeziumSinkConfig.parse({"connection.url": url, "connection.username": "u", "topics": "a"})
    rows = Column.from_rows([{"v": value} for value in values], s.struct({"v": schema}))
    assert rows.schema is not None
    return [row["v"] for row in value_forms(config).formed(rows, rows.schema).rows()]


@pytest.mark.parametrize(
    ("database", "schema", "is_key", "kind"),
    [
        ("pg", told(s.STRING, "varchar", 20), False, "VARCHAR(20)"),
        ("pg", told(s.STRING, "BPCHAR", 5), False, "CHAR(5)"),
        ("pg", told(s.STRING, "INET"), False, "INET"),
        ("pg", told(s.BOOLEAN, "BIT", 1), False, "BIT(1)"),
        ("pg", told(TIME_TYPES["MicroTimestamp"], "TIMESTAMP", 3), False, "TIMESTAMP(3) WITHOUT TIME ZONE"),
        ("pg", told(TIME_TYPES["MicroTimestamp"], "TIMESTAMP", 29), False, "TIMESTAMP(6) WITHOUT TIME ZONE"),
        ("pg", POINT, False, "POINT"),
        ("my", told(s.STRING, "VARCHAR", 400), False, "VARCHAR(400)"),
        ("my", told(s.STRING, "VARCHAR", 400), True, None),
        ("my", told(s.STRING, "TEXT", 400), False, None),
        ("my", told(s.BYTES, "VARBINARY", 15), False, "VARBINARY(15)"),
        ("my", told(s.BYTES, "LONGBLOB", 15), False, None),
        ("my", told(s.INT64, "BIGINT UNSIGNED", 20), False, "BIGINT UNSIGNED"),
        ("my", told(s.decimal(0), "BIGINT UNSIGNED", 20), False, "BIGINT UNSIGNED"),
        ("pg", told(s.INT64, "BIGINT UNSIGNED", 20), False, None),
        ("my", POINT, False, "POINT"),
    ],
)
def test_the_source_column_chooses_the_type(database: str, schema: s.Schema, is_key: bool, kind: str | None) -> None:
    found = column_types(URLS[database]).of(Member("v", schema, RecordPart.VALUE, "v", is_key=is_key))
    dialect = pg.dialect() if database == "pg" else my.dialect()
    assert (found if found is None else str(found.compile(dialect))) == kind


def test_numbers_without_a_sign_are_written_without_one_where_the_column_has_none() -> None:
    schema = told(s.INT64.as_optional(), "BIGINT UNSIGNED", 20)
    assert formed(URLS["my"], schema, [5, -1, None]) == ["5", "18446744073709551615", None]
    assert formed(URLS["pg"], schema, [-1]) == [-1]


def test_geometries_have_the_form_that_the_database_stores() -> None:
    own = replace(POINT, fields=(*POINT.fields, s.Field("srid", s.INT32.as_optional())), optional=True)
    given = {"x": 1.0, "y": 2.5, "srid": 4326}
    found = formed(URLS["my"], own, [{**given, "wkb": WKB}, {**given, "wkb": EXTENDED, "srid": None}, None])
    assert found == [b"\xe6\x10\0\0" + WKB, b"\0\0\0\0" + WKB, None]
    assert formed(URLS["pg"], own, [{**given, "wkb": WKB}, None]) == ["(1.0,2.5)", None]
    with pytest.raises(SchemaError, match="at least 5 bytes"):
        formed(URLS["my"], own, [{**given, "wkb": b"\x01"}])


def test_moments_without_an_end_and_of_nanoseconds_are_written() -> None:
    schema = TIME_TYPES["ZonedTimestamp"]
    given = ["infinity", "-infinity", "2024-07-01T02:00:00.123456789+02:00"]
    utc = Zones(zone("UTC"), zone("UTC"))
    assert text_of(pa.array(given), schema, Raw.INSTANT, utc).to_pylist() == [
        "infinity", "-infinity", "2024-07-01T00:00:00.123456",
    ]  # fmt: skip
    assert formed(URLS["my"], schema, given) == ["2038-01-19T03:14:07Z", "1970-01-01T00:00:01Z", given[2]]


def test_times_are_shown_in_columns_of_texts_where_the_sink_knows_them() -> None:
    utc = Zones(zone("UTC"), zone("UTC"))
    day, given = TIME_TYPES["Date"], pa.array([19_000], pa.int32())
    assert text_of(given, day, Raw.TEXT, utc).to_pylist() == ["19000"]
    assert text_of(given, day, Raw.TEXT, replace(utc, shows_times=True)).to_pylist() == ["2022-01-08"]
    year = TIME_TYPES["Year"]
    assert text_of(given, year, Raw.TEXT, replace(utc, shows_times=True)).to_pylist() == ["19000"]
    assert text_of(given, day, Raw.INTEGER, replace(utc, shows_times=True)).to_pylist() == ["19000"]


def test_a_new_column_of_bits_takes_all_64_of_them() -> None:
    bits = replace(s.BYTES, name="io.debezium.data.Bits", parameters={"length": "64"})
    assert formed(URLS["my"], bits, [b"\xff" * 8, b"\x01"]) == [-1, 1]
