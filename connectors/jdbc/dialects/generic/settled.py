"""Tells a database's settled time, before which all transactions have ended, and if its ids are given out in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.settled.settled_time import UNKNOWN_SETTLE_MS, AssumedSettledTime, SettledTime

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class Settled:
    """Assumes that each transaction ends within the settle time, as a database that is not known does not tell."""

    settle_ms: int = UNKNOWN_SETTLE_MS
    """Rows are read once they are this many milliseconds old, unless the configuration has settle.time.ms."""

    def settled_time(self, wanted_ms: int | None, longest_ms: int) -> SettledTime:
        """Return the observer of the settled time. `wanted_ms` is the settle time, or None for the database's default.

        A transaction that is open for more than `longest_ms` holds rows back no longer.
        """
        return self.observer((self.settle_ms if wanted_ms is None else wanted_ms) * 1000, longest_ms * 1000)

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return the observer of the settled time. An open transaction holds rows back for at most `longest_us`."""
        del longest_us
        return AssumedSettledTime(settle_us)

    def out_of_order(self, database: Database, table: TableName, column: str) -> str | None:
        """Return why a row can get a smaller id than one that was committed before, and the remedy.

        Return None if nothing shows that it can. RetriableError: the database cannot tell now.
        """
        del database, table, column
        return None
