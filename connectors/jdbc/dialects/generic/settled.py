"""Tells up to when a database's work is settled, and if its ids are given out in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.settled.settled_time import UNKNOWN_SETTLE_MS, AssumedSettledTime, SettledTime

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class Settled:
    """Trusts in a settle time where a database that is not known does not say what is open."""

    settle_ms: int = UNKNOWN_SETTLE_MS
    """Rows are left for a later read until they are so old, where the configuration does not say it."""

    def settled_time(self, wanted_ms: int | None, longest_ms: int) -> SettledTime:
        """Return what observes the database. `wanted_ms`: the settle time; None: the database's own."""
        return self.observer((self.settle_ms if wanted_ms is None else wanted_ms) * 1000, longest_ms * 1000)

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return what observes the database. `longest_us`: so long a forgotten transaction holds rows back."""
        del longest_us
        return AssumedSettledTime(settle_us)

    def out_of_order(self, database: Database, table: TableName, column: str) -> str | None:
        """Return why a row can get a smaller id than one that was committed before, and the remedy.

        None: nothing says so. RetriableError: not now.
        """
        del database, table, column
        return None
