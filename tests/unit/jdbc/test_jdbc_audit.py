"""What a mode cannot see is said for each table, and only that."""

from __future__ import annotations

import pytest

from connect.api import schema as s
from connectors.jdbc.audit import blind_spots
from connectors.jdbc.catalog import TableShape
from connectors.jdbc.config import JdbcSourceConfig
from connectors.jdbc.types import ColumnPlan, Raw

COLUMNS = (ColumnPlan("id", Raw.INTEGER, s.INT64), ColumnPlan("ts", Raw.INSTANT, s.TIMESTAMP_SCHEMA.as_optional()))
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


def test_confluents_statements_are_said_to_lose_rows():
    assert any(
        "commits late are lost" in text for text in said(INDEXED, ("id",), **BY_ID, **{"offset.mode": "confluent"})
    )
