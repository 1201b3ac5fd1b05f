"""Finds the columns of the user's query, and their types, which no catalog has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as t

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import type_rules
from connectors.jdbc.database.query import probe, wrapped
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.temporal import kinds
from connectors.jdbc.values.types import plan_column

_SAMPLE_ROWS = 1000
_DOING = "preparing the query"


def describe_query(database: Database, config: JdbcSourceConfig) -> TableShape:
    """Return the query's columns. ConnectError: the database refuses the query."""
    rules = type_rules(database, config)
    names = [str(column[0]) for column in database.describe(probe(config.query_text), _DOING)]
    known = database.dialect.catalog.query_columns(database, config.query_text, _DOING)
    sample = _sample(database, config.query_text, names) if set(names) - set(known) else {}
    plans = []
    for name in names:
        found = known.get(name)
        kind = inferred(sample.get(name, ())) if found is None else found.type
        plans.append(plan_column(name, kind, nullable=found is None or found.nullable, rules=rules))
    return TableShape(tuple(plans), frozenset(name for name, column in known.items() if not column.nullable))


_TYPES: dict[str, t.TypeEngine[Any]] = {
    "int": t.BigInteger(), "float": t.Double(), "bytes": t.LargeBinary(), "bool": t.Boolean(), "date": t.Date(),
    "time": t.Time(), "timedelta": t.Time(), "str": t.Text(), "UUID": t.Uuid(),
}  # fmt: skip


def inferred(sample: Sequence[Any]) -> t.TypeEngine[Any]:
    """Return the type of an expression, inferred from its first values; NullType or text if they do not tell it."""
    found = {kind.__name__ for kind in kinds(sample)}
    if found == {"int", "float"}:
        return t.Double()
    if found == {"Decimal"}:
        return t.DECIMAL(38, max(0, *(-int(v.as_tuple().exponent) for v in sample if v is not None), 0))
    if found == {"datetime"}:
        return t.DateTime(timezone=next(v for v in sample if v is not None).tzinfo is not None)
    return _TYPES.get(next(iter(found)), t.NullType()) if len(found) == 1 else t.Text()


def _sample(database: Database, query: str, names: Sequence[str]) -> dict[str, Sequence[Any]]:
    relation = wrapped(query, names)
    statement = sa.select(*(relation.c[n] for n in names)).limit(_SAMPLE_ROWS)
    rows = database.rows(statement, _DOING)
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
