"""Tells Firebird's settled time, before which all transactions have ended."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.settled import Settled
from connectors.jdbc.settled.settled_time import (
    DOING,
    UNKNOWN_SETTLE_MS,
    AssumedSettledTime,
    BoundedSettledTime,
    Observation,
    SettledTime,
)
from connectors.jdbc.values.java_zones import moment_us

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_log = logging.getLogger(__name__)
_SEES_ALL: Final = sa.text(
    "SELECT IIF(CURRENT_USER = 'SYSDBA' OR CURRENT_USER = TRIM(MON$OWNER) OR CURRENT_ROLE = 'RDB$ADMIN', 1, 0) "
    "FROM MON$DATABASE"
)
_OPEN: Final = sa.text(
    "SELECT MON$TRANSACTION_ID, DATEDIFF(MILLISECOND FROM MON$TIMESTAMP TO CURRENT_TIMESTAMP) FROM MON$TRANSACTIONS "
    "WHERE MON$READ_ONLY = 0 AND MON$ATTACHMENT_ID <> CURRENT_CONNECTION"
)


class FirebirdSettled(Settled):
    """Makes the observer of Firebird's settled time."""

    settle_ms = 1000

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return the observer of the settled time."""
        return FirebirdSettledTime(settle_us, longest_us)


class FirebirdSettledTime(BoundedSettledTime):
    """Observes the transactions of all attachments, which a database's owner and administrators see."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._fallback: AssumedSettledTime | None = None

    def observe(self, database: Database) -> Observation:
        """Look for transactions that may write. For a user who may not see those of others, assume a settle time."""
        if self._fallback is not None:
            return self._fallback.observe(database)
        # The MON$ tables show one state for a whole transaction, so each look needs a new transaction.
        database.end_transaction()
        now = moment_us(database.scalar(sa.select(database.dialect.cursors.clock), DOING))
        if not database.scalar(_SEES_ALL, DOING):
            return self._without_right(database)
        found = database.rows(_OPEN, DOING)
        database.end_transaction()
        self.watch_clock(now)
        # One millisecond is added, as ages are cut to whole milliseconds.
        return self.of(now, {f"Transaction {number}": now - (int(age_ms) + 1) * 1000 for number, age_ms in found})

    def _without_right(self, database: Database) -> Observation:
        settle_us = max(self.settle_us, UNKNOWN_SETTLE_MS * 1000)
        _log.warning(
            "Open transactions of others cannot be seen, so rows younger than %d ms are left for a later read, and "
            "rows of longer transactions can be lost: connect as the database's owner, or with roleName=RDB$ADMIN.",
            settle_us // 1000,
        )
        self._fallback = AssumedSettledTime(settle_us)
        return self._fallback.observe(database)
