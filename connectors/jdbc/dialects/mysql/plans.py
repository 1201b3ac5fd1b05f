"""Tells how MariaDB and MySQL would read the rows of a poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.plans import DOING, KnownPlans, explained

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class MySqlPlans(KnownPlans):
    """Reads the plans of polls that MariaDB and MySQL explain."""

    def explained(self, database: Database, poll: sa.Select[Any]) -> bool:
        """Return True if the server's plan for a poll reads a whole table that has no index for it."""
        # FORMAT=TRADITIONAL is no longer the default since MySQL 9. A small table may be read whole although it has an
        # index; then the index is in possible_keys.
        plans = database.mappings(explained(database, "EXPLAIN FORMAT=TRADITIONAL ", poll), DOING)
        return any(plan.get("type") == "ALL" and not plan.get("possible_keys") for plan in plans)
