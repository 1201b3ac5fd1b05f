"""Tells which PostgreSQL server numbered the transactions that a stored offset holds.

A server that took over from another without its last transactions gives their numbers out again, and so does one that
crashed, for those that left nothing in its log on disk. Rows with such a number would count as delivered. Source:
PostgreSQL's documentation on timelines, and its control data functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database

_DOING: Final = "asking which server this is"


@dataclass(frozen=True, slots=True)
class Lineage:
    """Identifies a server.

    `process` is when it was started. `history` is the cluster and its timeline, or an empty text if the server does not
    tell, as most standbys.
    """

    process: str
    history: str = ""

    @property
    def text(self) -> str:
        """Write process and history as the text that an offset holds."""
        return f"{self.process} {self.history}"

    @classmethod
    def parse(cls, text: str) -> Lineage:
        """Parse the text that an offset holds."""
        return cls(*text.split(" ", 1))

    def counts_on(self, earlier: Lineage) -> bool:
        """Return True if transactions have the same numbers on this server as on the earlier one.

        If a server does not tell its history, it is believed as long as its numbers go on behind the known ones.
        """
        return self.process == earlier.process or self.history in {"", earlier.history}


class Lineages:
    """Asks the servers of one table. Owned by the reading thread."""

    def __init__(self) -> None:
        self._asked = _FULL

    def now(self, database: Database) -> Lineage:
        """Return the lineage of the server that the connection leads to. RetriableError: it cannot tell now."""
        row = self._row(database, self._asked)
        if row is None:
            # Some providers deny users the right to see control data.
            self._asked = _PROCESS
            row = self._row(database, self._asked)
        return Lineage(*(str(part or "") for part in row or ("", "")))

    def first_number(self, database: Database) -> int | None:
        """Return the first transaction since a primary started, or a later one; None if the server cannot tell."""
        row = self._row(database, _NEXT)
        if row is None or row[0] is None:
            return None
        epoch, _, number = str(row[0]).partition(":")
        return (int(epoch) << 32) + int(number)

    @staticmethod
    def _row(database: Database, statement: str) -> Sequence[Any] | None:
        rows = database.told(partial(database.rows, sa.text(statement), _DOING))
        return None if rows is None else rows[0]


# A server writes a checkpoint when it stops and when its recovery ends. So the last checkpoint is from its start or
# later.
_NEXT: Final = """
SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN next_xid END FROM pg_catalog.pg_control_checkpoint()
"""
_PROCESS: Final = "SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text, ''"
_FULL: Final = """
SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text,
  (SELECT system_identifier FROM pg_catalog.pg_control_system()) || '/' ||
  CASE WHEN pg_catalog.pg_is_in_recovery()
  THEN (SELECT lpad(upper(to_hex(received_tli)), 8, '0') FROM pg_catalog.pg_stat_wal_receiver)
  ELSE left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8) END
"""
