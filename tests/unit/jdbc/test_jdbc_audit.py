"""Checks that a source says for each table what its mode cannot see, and only that."""

from __future__ import annotations

import pytest

from connect.api import schema as s
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.follow.blind_spots import blind_spots
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.types import ColumnPlan, Raw

COLUMNS = (
    ColumnPlan("id", Raw.INTEGER, s.INT64),
    ColumnPlan("ts", Raw.INSTANT, s.TIMESTAMP_SCHEMA.as_optional(), second_digits=3),
)
BOTH = {"mode": "timestamp+incrementing", "timestamp.column.name": "ts", "incrementing.column.name": "id"}
BY_ID = {"mode": "incrementing", "incrementing.column.name": "id"}
INDEXED = TableShape(COLUMNS, frozenset({"id", "ts"}), indexes=(("id",), ("ts", "id")))
BARE = TableShape(COLUMNS, frozenset({"id"}), indexes=(("id",),))


def said(shape: TableShape, cursor: tuple[str, ...], **settings: str) -> list[str]:
    given = {"connection.url": "jdbc:postgresql://h/d", "table.whitelist": "t", **settings}
    return [spot.text for spot in blind_spots("table t", shape, cursor, JdbcSourceConfig.parse(given))]


def test_a_table_with_index_and_without_null_has_only_what_no_poll_sees():
    assert said(INDEXED, ("ts", "id"), **BOTH) == [
        "table t: deleted rows are not seen with mode=timestamp+incrementing."
    ]
    assert len(said(INDEXED, ("id",), **BY_ID)) == 2
    assert said(INDEXED, (), mode="bulk") == []


@pytest.mark.parametrize("part", ["NULL in ts are never read", "no index begins with ts", "deleted rows"])
def test_null_and_a_missing_index_are_said_with_the_column(part: str):
    assert sum(part in text for text in said(BARE, ("ts", "id"), **BOTH)) == 1


@pytest.mark.parametrize(
    ("digits", "settings", "is_said"),
    [
        (6, {}, True),
        (4, {"mode": "bulk"}, True),
        (None, {}, True),
        (3, {}, False),
        (0, {}, False),
        (6, {"microsecond.handling": "fail"}, False),
    ],
)
def test_a_column_whose_microseconds_are_cut_off_is_named(digits: int | None, settings: dict[str, str], is_said: bool):
    told = said(wall_clock(digits), ("ts",), **{**BY_TIME, **settings})
    assert [text for text in told if "ts becomes" in text and "micros_long" in text] == told[:is_said]


@pytest.mark.parametrize(("passed", "is_said"), [((1007, 1007), False), ((1007, 2000), False), ((5000, 1007), True)])
def test_an_offset_beyond_all_rows_is_said(passed: tuple[int, int], is_said: bool):
    config = JdbcSourceConfig.parse({"connection.url": "jdbc:postgresql://h/d", "table.whitelist": "t", **BY_ID})
    told = [spot for spot in blind_spots("table t", INDEXED, ("id",), config, passed_ids=passed) if "5000" in spot.text]
    assert [spot.can_be_mended for spot in told] == [True] * is_said


def test_confluents_statements_are_said_to_lose_rows():
    assert any(
        "commits late are lost" in text for text in said(INDEXED, ("id",), **BY_ID, **{"offset.mode": "confluent"})
    )


def wall_clock(digits: int | None, **more: bool) -> TableShape:
    ts = ColumnPlan("ts", Raw.WALL_CLOCK, s.TIMESTAMP_SCHEMA, second_digits=digits)
    return TableShape((COLUMNS[0], ts), frozenset({"id", "ts"}), indexes=(("ts",),), **more)


BY_TIME = {"mode": "timestamp", "timestamp.column.name": "ts"}


@pytest.mark.parametrize(
    ("digits", "settings", "is_said"),
    [
        (6, {}, False),
        (0, {}, False),
        (0, {"settle.time.ms": "0"}, False),
        (0, {"offset.mode": "confluent"}, True),
        (3, {"offset.mode": "confluent"}, True),
        (-5, {"offset.mode": "confluent"}, True),
    ],
)
def test_a_coarse_timestamp_is_said_where_it_can_lose_rows(digits: int, settings: dict[str, str], is_said: bool):
    told = said(wall_clock(digits), ("ts",), **BY_TIME, **settings)
    assert any("ts has one value per" in text and "lost" in text for text in told) == is_said


def test_rows_of_a_date_are_said_to_come_when_their_day_is_over():
    assert any("ts has one value per day, so rows come when" in t for t in said(wall_clock(-5), ("ts",), **BY_TIME))


def test_a_table_followed_by_its_transactions_loses_none_of_a_day():
    assert not any("one value per" in text for text in said(wall_clock(-5, has_xmin=True), ("ts",), **BY_TIME))


def test_a_server_in_another_zone_and_the_hour_that_comes_twice_are_said():
    given = {"connection.url": "jdbc:mariadb://h/d", "table.whitelist": "t", **BY_TIME}
    utc = JdbcSourceConfig.parse(given)
    berlin = JdbcSourceConfig.parse({**given, "db.timezone": "Europe/Berlin"})

    def told(config: JdbcSourceConfig, offset_s: int | None) -> str:
        return " ".join(spot.text for spot in blind_spots("table t", wall_clock(6), ("ts",), config, offset_s))

    assert "+2 h off" in told(utc, 7200)
    assert " h off" not in told(utc, 0) + told(utc, None)
    assert "comes twice" in told(berlin, None)
    assert "comes twice" not in told(utc, 0)


def test_what_explain_says_of_the_index_counts_more_than_the_catalog():
    given = {"connection.url": "jdbc:postgresql://h/d", "table.whitelist": "t", **BOTH}
    config = JdbcSourceConfig.parse(given)

    def told(shape: TableShape, config: JdbcSourceConfig, *, scans: bool | None, first: str = "ts") -> str:
        return " ".join(s.text for s in blind_spots("t", shape, (first, "id"), config, reads_all=scans))

    assert "no index begins with ts" in told(INDEXED, config, scans=True)
    assert "index" not in told(BARE, config, scans=False)
    several = JdbcSourceConfig.parse({**given, "timestamp.column.name": "ts,made"})
    assert "no index is on coalesce(ts, made)" in told(BARE, several, scans=True, first="")
    query = JdbcSourceConfig.parse({**BOTH, "connection.url": "jdbc:postgresql://h/d", "query": "SELECT * FROM t"})
    assert "reads and sorts all of its rows" in told(BARE, query, scans=True)
    assert "index" not in told(BARE, query, scans=None)
