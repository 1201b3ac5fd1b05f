"""Tells how PostgreSQL would read the rows of a poll."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.plans import DOING, KnownPlans, explained

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class PostgresPlans(KnownPlans):
    """Reads the plans of polls that PostgreSQL explains."""

    def explained(self, database: Database, poll: sa.Select[Any]) -> bool:
        """Ask the server."""
        # A small table is read whole although an index would do, unless that is made to look expensive.
        for setting in ("enable_seqscan", "enable_sort"):
            database.rows(sa.text(f"SELECT set_config('{setting}', 'off', true)"), DOING)
        plan = database.scalar(explained(database, "EXPLAIN (FORMAT JSON) ", poll), DOING)
        nodes = list(_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
        kinds = {str(node["Node Type"]) for node in nodes}
        # Joins and views may read small tables whole; then the rows are not in order.
        return "Seq Scan" in kinds and bool(kinds & {"Sort", "Incremental Sort"})


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)
