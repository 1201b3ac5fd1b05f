"""Counts the rows that a bulk read of a table should have: before the mark in the whole table, not range by range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from connect.api.optional.bulk import RowCount, Split
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow.ranges import before_mark, beyond_reach
from connectors.jdbc.follow.read_plan import assembled
from connectors.jdbc.follow.splits import TableSplit
from connectors.jdbc.settings.config import JdbcSourceConfig


def count_all(config: JdbcSourceConfig, splits: Sequence[Split]) -> list[RowCount]:
    """Count the rows before the mark of each table to which these splits of one plan belong. Connects."""
    by_table: dict[str, list[tuple[TableSplit, str]]] = {}
    for split in splits:
        wanted = TableSplit.of(split)
        by_table.setdefault(wanted.table.full, []).append((wanted, split.id))
    database = Database(config, waits=True)
    try:
        return [_counted(database, config, own[0][0], [split_id for _, split_id in own]) for own in by_table.values()]
    finally:
        database.close()


def _counted(database: Database, config: JdbcSourceConfig, split: TableSplit, ids: Sequence[str]) -> RowCount:
    builder = assembled(database, split.table, config)
    name = f"table {split.table.full}"
    wanted = sa.and_(*before_mark(builder, config, split.mark))
    unread, why = beyond_reach(builder, config)
    counts: list[sa.ColumnElement[Any]] = [_how_many(wanted), _how_many(unread)]
    statement = sa.select(*counts).select_from(builder.source.relation)
    ((rows, left_out),) = database.rows(statement, f"counting {name}")
    database.end_transaction()
    return RowCount(name, ids, int(rows or 0), int(left_out or 0), why)


def _how_many(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.sum(sa.case((condition, 1), else_=0))
