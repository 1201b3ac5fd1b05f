"""Checks which column a type becomes, which values fit it, and what may be changed on a table that is there."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.time_types import TIME_TYPES
from connectors.bigquery.rows.fit import fitted, fitted_rows
from connectors.bigquery.rows.names import FieldNames
from connectors.bigquery.rows.table_schema import NULLABLE, REPEATED, REQUIRED, ColumnSchema, ColumnType
from connectors.bigquery.rows.types import TypeRules, column_of
from connectors.bigquery.tables.table_columns import Allowed, Needed, widened

RULES = TypeRules(FieldNames(is_sanitizing=False), ColumnType.NUMERIC)
C = ColumnType


def values(schema: s.Schema, *rows: Any) -> pa.Array:
    return pa.array(rows, arrow_type(schema))


@pytest.mark.parametrize(
    ("schema", "type_", "mode", "given", "kept"),
    [
        (s.INT8, C.INTEGER, REQUIRED, -128, -128),
        (s.FLOAT32.as_optional(), C.FLOAT, NULLABLE, 1.5, 1.5),
        (s.BOOLEAN, C.BOOLEAN, REQUIRED, True, True),
        (s.STRING, C.STRING, REQUIRED, "ä", "ä"),
        (s.BYTES, C.BYTES, REQUIRED, b"\x00", b"\x00"),
        (s.decimal(2), C.NUMERIC, REQUIRED, Decimal("1.25"), Decimal("1.25")),
        (s.DATE_SCHEMA, C.DATE, REQUIRED, date(1, 1, 1), date(1, 1, 1)),
        (s.TIME_SCHEMA, C.TIME, REQUIRED, time(1, 2, 3, 4000), time(1, 2, 3, 4000)),
        (s.TIMESTAMP_SCHEMA, C.TIMESTAMP, REQUIRED, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
        (TIME_TYPES["Date"], C.DATE, REQUIRED, 1, date(1970, 1, 2)),
        (TIME_TYPES["MicroTime"], C.TIME, REQUIRED, 1, time(0, 0, 0, 1)),
        (TIME_TYPES["MicroTimestamp"], C.TIMESTAMP, REQUIRED, 1, datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        (
            TIME_TYPES["ZonedTimestamp"], C.TIMESTAMP, REQUIRED, "2026-01-01T01:00:00.5+01:00",
            datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=UTC),
        ),
        (TIME_TYPES["NanoTimestamp"], C.INTEGER, REQUIRED, 1, 1),
        (s.array(s.INT64), C.INTEGER, REPEATED, [1, 2], [1, 2]),
        (s.map_of(s.STRING, s.INT64), C.RECORD, REPEATED, [("a", 1)], [{"key": "a", "value": 1}]),
        (s.struct({"x": s.INT64}), C.RECORD, REQUIRED, {"x": 1}, {"x": 1}),
    ],
    ids=lambda value: getattr(value, "name", None) or None,
)  # fmt: skip
def test_a_type_has_a_column_that_keeps_its_values(schema, type_, mode, given, kept):
    column = column_of("f", schema, RULES, "f")
    assert (column.type, column.mode) == (type_, mode)
    assert fitted(values(schema, given), schema, column, "f").to_pylist() == [kept]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (s.array(s.array(s.INT64)), "no arrays of arrays"),
        (s.struct({}), "records without members"),
    ],
)
def test_what_bigquery_has_no_place_for_is_named(schema, told):
    with pytest.raises(SchemaError, match=rf"'order\.f'.*{told}"):
        column_of("f", schema, RULES, "order.f")


@pytest.mark.parametrize(
    ("schema", "column", "rows", "bad"),
    [
        (s.INT64, ColumnSchema("f", C.FLOAT), [2**53 + 1, 5], {0}),
        (s.INT64, ColumnSchema("f", C.NUMERIC, precision=3, scale=0), [999, 1000], {1}),
        (s.decimal(12), ColumnSchema("f", C.NUMERIC), [Decimal("0.000000000001"), Decimal("1.000000000000")], {0}),
        (s.STRING.as_optional(), ColumnSchema("f", C.STRING, REQUIRED), ["a", None, ""], {1}),
        (s.STRING, ColumnSchema("f", C.INTEGER), ["7", "seven"], {1}),
        (TIME_TYPES["Timestamp"], ColumnSchema("f", C.TIMESTAMP), [253_402_300_800_000, 0], {0}),
        (
            s.array(s.INT64.as_optional()), ColumnSchema("f", C.INTEGER, REPEATED), [[1], [1, None], []], {1},
        ),
        (
            s.struct({"x": s.INT64}, optional=True),
            ColumnSchema("f", C.RECORD, fields=(ColumnSchema("x", C.NUMERIC, precision=2, scale=0),)),
            [{"x": 5}, {"x": 500}, None], {1},
        ),
    ],
    ids=["float", "precision", "scale", "required", "text", "range", "null item", "member"],
)  # fmt: skip
def test_a_value_that_its_column_does_not_hold_makes_its_row_bad_alone(schema, column, rows, bad):
    array = values(schema, *rows)
    assert set(fitted_rows(array, schema, column, "f")[1]) == bad
    good = array.take(pa.array([i for i in range(len(rows)) if i not in bad], pa.int64()))
    assert not fitted_rows(good, schema, column, "f")[1]


def test_a_type_without_a_place_in_the_column_is_named_once():
    with pytest.raises(SchemaError, match=r"'f'.*boolean have no place in column f, which is DATE"):
        fitted_rows(values(s.BOOLEAN, True), s.BOOLEAN, ColumnSchema("f", C.DATE), "f")


TABLE = (ColumnSchema("id", C.INTEGER, REQUIRED), ColumnSchema("o", C.RECORD, fields=(ColumnSchema("a", C.STRING),)))
NOTHING = Allowed(new_columns=False, relaxation=False)


def needed(*columns: ColumnSchema) -> Needed:
    return Needed(columns, (ColumnSchema("_kafka_offset", C.INTEGER),), frozenset({"id"}))


def test_dedups_own_columns_are_always_added():
    assert widened("t", TABLE, needed(*TABLE), NOTHING) == (*TABLE, ColumnSchema("_kafka_offset", C.INTEGER))
    full = (*TABLE, ColumnSchema("_KAFKA_OFFSET", C.INTEGER))
    assert widened("t", full, needed(*TABLE), NOTHING) is full


def test_everything_that_may_not_be_changed_is_named_at_once():
    wanted = needed(ColumnSchema("o", C.RECORD, fields=(ColumnSchema("b", C.STRING),)), ColumnSchema("n", C.STRING))
    with pytest.raises(SchemaError, match=r"id is REQUIRED.*no column o\.b.*no column n") as refused:
        widened("t", TABLE, wanted, NOTHING)
    assert "allowNewBigQueryFields=true" in str(refused.value)


def test_new_columns_are_nullable_and_nested_ones_go_into_their_record():
    wanted = needed(
        TABLE[0], ColumnSchema("o", C.RECORD, fields=(ColumnSchema("b", C.STRING, REQUIRED),)),
        ColumnSchema("n", C.STRING, REQUIRED),
    )  # fmt: skip
    found = {column.name: column for column in widened("t", TABLE, wanted, Allowed(True, False))}
    assert found["n"].mode == NULLABLE
    assert [(c.name, c.mode) for c in found["o"].fields] == [("a", NULLABLE), ("b", NULLABLE)]


def test_a_column_becomes_nullable_where_that_is_allowed():
    wanted = needed(ColumnSchema("id", C.INTEGER, NULLABLE), TABLE[1])
    assert widened("t", TABLE, wanted, NOTHING)[0].mode == REQUIRED
    assert widened("t", TABLE, wanted, Allowed(False, True))[0].mode == NULLABLE
