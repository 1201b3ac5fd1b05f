"""Tells if a poll has to read all rows, as the database's own EXPLAIN says. It runs no poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.query import BoundValue, Source, select
from connectors.jdbc.values.types import ColumnPlan, Raw

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.plans import Plans

_TEXT: sa.ColumnElement[Any] = sa.literal_column("'1970-01-02'")


def reads_all(
    database: Database, source: Source, order: Sequence[sa.ColumnElement[Any]], first: ColumnPlan
) -> bool | None:
    """Return True if a poll in this order reads every row, or None if the database cannot tell.

    `first` is the first column of the order. RetriableError: the database cannot tell now.
    """
    if not order:
        return None
    plans = database.dialect.plans
    return plans.reads_all(database, select(source, order, after=[BoundValue.at(_value(plans, first))]))


def _value(plans: Plans, first: ColumnPlan) -> sa.ColumnElement[Any]:
    if first.raw in {Raw.INTEGER, Raw.DECIMAL}:
        return sa.literal_column("0")
    return _TEXT if first.raw is Raw.TEXT else plans.moment
