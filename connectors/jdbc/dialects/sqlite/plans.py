"""Tells how SQLite would read the rows of a poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.plans import DOING, KnownPlans, explained

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class SqlitePlans(KnownPlans):
    """Reads the plans of polls that SQLite explains."""

    moment = sa.literal_column("'1970-01-02'")

    def explained(self, database: Database, poll: sa.Select[Any]) -> bool:
        """Return True if SQLite's plan for a poll reads a whole table without an index."""
        rows = database.rows(explained(database, "EXPLAIN QUERY PLAN ", poll), DOING)
        # "SCAN t" reads all rows; "SCAN t USING INDEX i" and "SEARCH t …" use an index. Source: sqlite.org/eqp.html.
        return any(str(row[-1]).startswith("SCAN ") and " USING " not in str(row[-1]) for row in rows)
