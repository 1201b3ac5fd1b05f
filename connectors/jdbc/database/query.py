"""Builds every statement the source reads with. Pure: SQLAlchemy expressions in and out, nothing is run.

Identifiers go through the dialect's quoting, values are bound parameters. Only the user's own `query` and
`query.suffix` are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw


@dataclass(frozen=True, slots=True)
class BoundValue:
    """Holds a value that a column is compared with: `low` for >= and <, `high` for >.

    The two differ if one value has several forms.
    """

    low: sa.ColumnElement[Any]
    high: sa.ColumnElement[Any]

    @classmethod
    def at(cls, value: sa.ColumnElement[Any]) -> BoundValue:
        """Return the bound for a value that has one form only."""
        return cls(value, value)


@dataclass(frozen=True, slots=True)
class Source:
    """Holds the table or wrapped query that is read, with its columns in order."""

    relation: sa.FromClause
    columns: tuple[ColumnPlan, ...]
    suffix: str = ""

    def column(self, name: str) -> sa.ColumnElement[Any]:
        """Return the expression of a column by its exact name."""
        return self.relation.c[name]


def table_source(
    table: TableName, columns: Sequence[ColumnPlan], *, quote: bool, extra: Sequence[str] = (), suffix: str = ""
) -> Source:
    """Return a table as a source. `extra` columns may be ordered by but are not part of the row (SQLite's rowid)."""
    names = [*(c.name for c in columns), *extra]
    relation = sa.table(
        quoted_name(table.name, quote),
        *(sa.column(quoted_name(n, quote) if n not in extra else n) for n in names),
        schema=None if table.schema is None else quoted_name(table.schema, quote),
    )
    return Source(relation, tuple(columns), suffix)


def query_source(query: str, columns: Sequence[ColumnPlan], suffix: str = "") -> Source:
    """Return the user's query, wrapped, so that conditions and order can be added whatever it contains."""
    return Source(wrapped(query, [c.name for c in columns]), tuple(columns), suffix)


def wrapped(query: str, names: Sequence[str]) -> sa.Subquery:
    """Return `(query) AS x`. A colon in the query is text, never a parameter."""
    last = query.strip().rstrip(";").rpartition("\n")[2]
    # A line feed is added, as the query may end with a comment.
    end = "\n" if "--" in last or "#" in last else ""
    text = sa.text(query.strip().rstrip(";").replace(":", "\\:") + end)
    return text.columns(*(sa.column(quoted_name(n, True)) for n in names)).subquery("x")


def probe(query: str) -> sa.Select[Any]:
    """Return a statement that reads no row of the user's query; its description has the columns."""
    return sa.select(sa.text("*")).select_from(wrapped(query, [])).where(sa.literal(1) == sa.literal(0))


def every_column(table: TableName, *, quote: bool) -> sa.Select[Any]:
    """Return a statement that reads no row of a table; its description has the present columns."""
    nothing = sa.literal(1) == sa.literal(0)
    return sa.select(sa.text("*")).select_from(table_source(table, (), quote=quote).relation).where(nothing)


def select(
    source: Source,
    order: Sequence[sa.ColumnElement[Any]] = (),
    *,
    after: Sequence[BoundValue] = (),
    until: sa.ColumnElement[Any] | None = None,
    conditions: Sequence[sa.ColumnElement[bool]] = (),
    extra: Sequence[sa.ColumnElement[Any]] = (),
    limit: int | None = None,
    as_text: frozenset[Raw] = frozenset(),
) -> sa.Select[Any]:
    """Return the statement that reads rows in order, after a place in it, up to before `until` in the first order
    column.

    `after` has a value for all of `order`, or for its first columns only: then rows equal in those are left out, too.
    Columns whose kinds are in `as_text` are read as text.
    """
    columns = [_projected(source, plan, as_text) for plan in source.columns]
    statement = sa.select(*columns, *extra).select_from(source.relation)
    if after:
        statement = statement.where(_after(order, after))
    if until is not None:
        statement = statement.where(order[0] < until)
    statement = statement.where(*conditions)
    if order:
        statement = statement.order_by(*(column.asc() for column in order))
    if limit is not None:
        statement = statement.limit(limit)
    return statement.suffix_with(sa.text(source.suffix.replace(":", "\\:"))) if source.suffix else statement


def moment(source: Source, plan: ColumnPlan) -> sa.ColumnElement[Any]:
    """Return the expression of a timestamp by which rows are ordered: as fine as the offset that is stored of it."""
    column = source.column(plan.name)
    return _PROJECTED[plan.projection](column) if plan.projection is Projection.MICROSECONDS else column


def first_value(source: Source, column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return a statement that reads some value of a column that is not null, to see its form."""
    return sa.select(column).select_from(source.relation).where(column.is_not(None)).limit(1)


def _projected(source: Source, plan: ColumnPlan, as_text: frozenset[Raw]) -> sa.ColumnElement[Any]:
    column = _PROJECTED[plan.projection](source.column(plan.name))
    if plan.raw in as_text:
        column = sa.cast(column, sa.Text)
    return column if isinstance(column, sa.ColumnClause) else column.label(plan.name)


_PROJECTED: dict[Projection, Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]]] = {
    Projection.AS_IS: lambda column: column,
    Projection.TEXT: lambda column: sa.cast(column, sa.Text),
    # A cast would add the digits of a network that is one address, which the log and psql leave out.
    Projection.TEXT_OF_INET: lambda column: sa.func.textin(sa.func.inet_out(column), type_=sa.Text),
    # A product keeps the sign of zero and works before MySQL 8.0.17, where CAST AS DOUBLE begins.
    Projection.DOUBLE: lambda column: column.op("*")(sa.literal_column("1e0")),
    Projection.NUMBER: lambda column: sa.cast(column, sa.Numeric),
    Projection.BOOLEAN_OF_BIT: lambda column: sa.cast(sa.cast(column, sa.Integer), sa.Boolean),
    Projection.INTEGER_OF_BIT: lambda column: column.op("+")(sa.literal_column("0")),
    # These are functions of DuckDB, the only database whose types ask for it.
    Projection.MICROSECONDS: lambda column: sa.func.make_timestamp(sa.func.epoch_us(column), type_=sa.DateTime()),
}


def _after(order: Sequence[sa.ColumnElement[Any]], values: Sequence[BoundValue]) -> sa.ColumnElement[bool]:
    # This form is read by index on MariaDB and PostgreSQL alike; a row constructor scans the whole index on MariaDB.
    first, value = order[0], values[0]
    if len(values) == 1:
        return first > value.high
    return sa.and_(first >= value.low, sa.or_(first > value.high, _after(order[1:], values[1:])))
