"""The columns of the user's query, whose types no catalog has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as t

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import TableShape, type_rules
from connectors.jdbc.database.query import probe, wrapped
from connectors.jdbc.dialects.mysql import result_types as mysql_types
from connectors.jdbc.dialects.postgres import result_types as postgres_types
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.temporal import kinds
from connectors.jdbc.values.types import ResultColumn, plan_column

_SAMPLE_ROWS = 1000
_DOING = "preparing the query"
_TEMP_VIEW = "connect_query_columns"
_MAKES_NULLS = re.compile(r"(?i)\b(?:left|right|full|rollup|cube|grouping)\b")
"""Words without which no row of a query has NULL for a table's column that is NOT NULL."""


def describe_query(database: Database, config: JdbcSourceConfig) -> TableShape:
    """The query's columns. ConnectError when the database refuses the query."""
    rules = type_rules(database, config)
    names = [str(column[0]) for column in database.describe(probe(config.query_text), _DOING)]
    known = _known(database, config.query_text)
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
    """The type of an expression from its first values; text when they are all null."""
    found = {kind.__name__ for kind in kinds(sample)}
    if found == {"int", "float"}:
        return t.Double()
    if found == {"Decimal"}:
        return t.DECIMAL(38, max(0, *(-int(v.as_tuple().exponent) for v in sample if v is not None), 0))
    if found == {"datetime"}:
        return t.DateTime(timezone=next(v for v in sample if v is not None).tzinfo is not None)
    return _TYPES.get(next(iter(found)), t.NullType()) if len(found) == 1 else t.Text()


def _known(database: Database, query: str) -> Mapping[str, ResultColumn]:
    """What the database tells of the columns, whatever rows there are."""
    match database.dialect_name:
        case "sqlite":
            return {name: ResultColumn(kind) for name, kind in _declared(database, query).items()}
        case "postgresql":
            found = database.look_at(probe(query), _DOING, postgres_types.result_columns)
            return postgres_types.known_columns(database, found, keeps_not_null=_MAKES_NULLS.search(query) is None)
        case "mysql" | "mariadb":
            return database.look_at(probe(query), _DOING, mysql_types.result_columns)
    return {}


def _declared(database: Database, query: str) -> dict[str, t.TypeEngine[Any]]:
    # A view shows the declared type of every column that the query passes on; it lives in this connection's memory.
    connection = database.connection
    text = query.strip().rstrip(";")
    with database.border.translated(_DOING, "Mend the query; it must be one SELECT."):
        connection.exec_driver_sql("PRAGMA query_only=OFF")
        try:
            connection.exec_driver_sql(f"CREATE TEMP VIEW {_TEMP_VIEW} AS {text}")
            columns = sa.inspect(connection).get_columns(_TEMP_VIEW, schema="temp")
            connection.exec_driver_sql(f"DROP VIEW temp.{_TEMP_VIEW}")
        finally:
            connection.exec_driver_sql("PRAGMA query_only=ON")
    return {str(c["name"]): c["type"] for c in columns if not isinstance(c["type"], t.NullType)}


def _sample(database: Database, query: str, names: Sequence[str]) -> dict[str, Sequence[Any]]:
    relation = wrapped(query, names)
    statement = sa.select(*(relation.c[n] for n in names)).limit(_SAMPLE_ROWS)
    rows = database.rows(statement, _DOING)
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
