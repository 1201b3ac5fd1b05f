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
        """Return True if PostgreSQL's plan for a poll reads and sorts a whole table."""
        # PostgreSQL reads a small table whole although it has an index, unless that is made to look expensive.
        for setting in ("enable_seqscan", "enable_sort"):
            database.rows(sa.text(f"SELECT set_config('{setting}', 'off', true)"), DOING)
        plan = database.scalar(explained(database, "EXPLAIN (FORMAT JSON) ", poll), DOING)
        nodes = list(_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
        kinds = {str(node["Node Type"]) for node in nodes}
        # A join or a view may read a small table whole. That counts only if the rows have to be sorted, too.
        return "Seq Scan" in kinds and bool(kinds & {"Sort", "Incremental Sort"})


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)
