"""Whether a poll has to read all rows, as the database's own EXPLAIN says. It runs no poll."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.query import Edge, Source, select
from connectors.jdbc.values.types import ColumnPlan, Raw

_DOING = "explaining a poll"


def reads_all(
    database: Database, source: Source, order: Sequence[sa.ColumnElement[Any]], first: ColumnPlan
) -> bool | None:
    """Whether a poll in this order reads every row; None: nobody can say. `first`: the first column of the order.

    RetriableError: not now.
    """
    ask = _ASK.get(database.dialect_name)
    if ask is None or not order:
        return None
    poll = select(source, order, after=[Edge.at(_value(database.dialect_name, first))])
    # The right to read is the poll's to miss, and a form of EXPLAIN that is not known here says nothing.
    return database.told(lambda: ask(database, poll))


def _value(dialect: str, first: ColumnPlan) -> sa.ColumnElement[Any]:
    if first.raw in {Raw.INTEGER, Raw.DECIMAL}:
        return sa.literal_column("0")
    if first.raw is Raw.TEXT or dialect == "sqlite":
        return sa.literal_column("'1970-01-02'")
    return sa.literal(datetime(1970, 1, 2), sa.DateTime())  # noqa: DTZ001 - either kind of column takes it


def _sqlite(database: Database, poll: sa.Select[Any]) -> bool:
    rows = database.rows(_explained(database, "EXPLAIN QUERY PLAN ", poll), _DOING)
    # Source: sqlite.org/eqp.html: "SCAN t" reads all, "SCAN t USING INDEX i" and "SEARCH t …" go by an index.
    return any(str(row[-1]).startswith("SCAN ") and " USING " not in str(row[-1]) for row in rows)


def _mysql(database: Database, poll: sa.Select[Any]) -> bool:
    rows = database.rows(_explained(database, "EXPLAIN FORMAT=TRADITIONAL ", poll), _DOING)
    # Its own default is another form since MySQL 9. A small table is read whole although an index would do; then the
    # index is in possible_keys.
    plans = [dict(row._mapping) for row in rows]  # type: ignore[attr-defined]  # noqa: SLF001 - SQLAlchemy's public name
    return any(plan.get("type") == "ALL" and not plan.get("possible_keys") for plan in plans)


def _postgresql(database: Database, poll: sa.Select[Any]) -> bool:
    # A small table is read whole although an index would do, unless that is made to look expensive.
    for setting in ("enable_seqscan", "enable_sort"):
        database.rows(sa.text(f"SELECT set_config('{setting}', 'off', true)"), _DOING)
    plan = database.scalar(_explained(database, "EXPLAIN (FORMAT JSON) ", poll), _DOING)
    nodes = list(_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    kinds = {str(node["Node Type"]) for node in nodes}
    # Joins and views may read small tables whole; then the rows are not in order.
    return "Seq Scan" in kinds and bool(kinds & {"Sort", "Incremental Sort"})


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def _explained(database: Database, verb: str, poll: sa.Select[Any]) -> sa.TextClause:
    dialect = database.connection.dialect
    compiled = poll.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    assert isinstance(compiled, SQLCompiler)
    # Drivers with % as their sign for parameters have it doubled.
    text = str(compiled).replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else str(compiled)
    return sa.text(verb + text.replace("\\", "\\\\").replace(":", "\\:"))


_ASK = {"sqlite": _sqlite, "mysql": _mysql, "mariadb": _mysql, "postgresql": _postgresql}
