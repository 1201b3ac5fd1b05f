"""Examines the user's database for an evaluation of the JDBC source: missing rights, and rows its cursor does not
see.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from connect.api.errors import ConnectError
from connect.api.optional.findings import Aspect, Finding, Weight
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.dialects.generic.rights import MissingRight
from connectors.jdbc.follow.cursors import timestamp_names
from connectors.jdbc.follow.read_plan import PlanBuilder, assembled
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw

CONNECT_S: Final = 4
_ROWS_SEEN: Final = 10_000
"""At most this many of the newest rows are checked for equal timestamps, and at most this many rows are counted."""
_AHEAD: Final = timedelta(days=1)
"""Rows that are further than this in the future have wrong times, as no zone differs from UTC by a day."""


def findings(config: JdbcSourceConfig, deadline: Deadline) -> Iterator[Finding]:
    """Yield findings about rights first, then about each table's cursor, as long as there is time."""
    database = Database(config, connect_timeout_s=CONNECT_S)
    try:
        tables = choose_tables(database, config, list_tables(database, config))
    except ConnectError as error:
        database.close()
        right = database.dialect.rights.refused_database(error, config)
        if right is not None:
            yield _lacks(right)
        return
    try:
        denied = set()
        for right in database.dialect.rights.missing(database, config, tables):
            denied.add(right.table)
            yield _lacks(right)
        if config.mode in {"bulk", "log"} or config.query_text:
            return
        for table in tables:
            if table not in denied and not deadline.expired:
                yield from _of_cursor(database, table, config)
    finally:
        database.close()


def _lacks(right: MissingRight) -> Finding:
    return Finding(Aspect.REACH, right.text, right.statement, Weight.FAILS)


def _of_cursor(database: Database, table: TableName, config: JdbcSourceConfig) -> Iterator[Finding]:
    builder = assembled(database, table, config)
    plan = builder.plan({}, None)
    for spot in plan.blind_spots:
        yield Finding(Aspect.CURSOR, spot.text, weight=Weight.WARNS if spot.can_be_mended else Weight.TOLD)
    database.end_transaction()
    if "timestamp" in config.mode:
        yield from _of_timestamps(database, table, builder, config)


def _of_timestamps(
    database: Database, table: TableName, builder: PlanBuilder, config: JdbcSourceConfig
) -> Iterator[Finding]:
    found = (builder.shape.find(name) for name in timestamp_names(table, config))
    known = [column for column in found if column is not None]
    columns = [builder.source.column(column.name) for column in known]
    if not columns:
        return
    relation, names = builder.source.relation, ", ".join(column.name for column in known)
    if any(column.name not in builder.shape.not_null for column in known):
        missing = sa.and_(*(column.is_(None) for column in columns))
        if count := _count(database, relation, missing):
            text = f"table {table.full}: {count} rows have NULL in {names}, and are never read."
            yield Finding(Aspect.CURSOR, text, weight=Weight.FAILS)
    if any(column.raw not in {Raw.WALL_CLOCK, Raw.INSTANT} for column in known):
        return
    ahead = (datetime.now(UTC) + _AHEAD).replace(tzinfo=None)
    later = sa.or_(*(column > sa.literal(ahead, sa.DateTime()) for column in columns))
    if count := _count(database, relation, later):
        text = (
            f"table {table.full}: {count} rows have a time in {names} that is more than a day ahead of now: they come "
            "when that time has come."
        )
        yield Finding(Aspect.CURSOR, text)
    if config.mode == "timestamp" and _has_ties(database, relation, columns[0]):
        text = f"table {table.full}: among its newest rows several share a value of {names}."
        yield Finding(Aspect.CURSOR, text, weight=Weight.TOLD)


def _count(database: Database, relation: sa.FromClause, condition: sa.ColumnElement[bool]) -> str:
    """Return the number of rows that meet a condition, in words, or an empty text if there are none."""
    some = sa.select(sa.literal(1).label("one")).select_from(relation).where(condition).limit(_ROWS_SEEN).subquery()
    count = int(database.scalar(sa.select(sa.func.count()).select_from(some), "counting rows") or 0)
    database.end_transaction()
    if not count:
        return ""
    return f"{count:,}" if count < _ROWS_SEEN else f"at least {count:,}"


def _has_ties(database: Database, relation: sa.FromClause, column: sa.ColumnElement[Any]) -> bool:
    newest = sa.select(column.label("at")).select_from(relation).where(column.is_not(None))
    seen = newest.order_by(column.desc()).limit(_ROWS_SEEN).subquery()
    ties = sa.select(seen.c.at).group_by(seen.c.at).having(sa.func.count() > 1).limit(1)
    has = bool(database.rows(ties, "looking for rows of the same time"))
    database.end_transaction()
    return has
