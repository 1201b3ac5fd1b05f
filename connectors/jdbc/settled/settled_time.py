"""Tells the settled time of a database: the instant such that everything begun before it has ended.

A transaction takes its ids and timestamps before it commits, so that rows appear out of order. Work that was begun
before the settled time has been committed or was rolled back, and can add nothing any more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.values.java_zones import moment_us

_log = logging.getLogger(__name__)
DOING = "asking for open transactions"
_WARN_AFTER_US = 60_000_000
REPLICA_US = 60_000_000
"""A replica's settled time is this many microseconds earlier: it does not see the transactions that are open on its
primary, and gets their rows late.
"""
UNKNOWN_SETTLE_MS = 10_000


@dataclass(frozen=True, slots=True)
class Observation:
    """Holds the time on the database's clock and its settled time, both in microseconds since the epoch."""

    now_us: int
    settled_us: int


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Describes a transaction or statement that has not ended. `started_us` is None if the user may not see it."""

    name: str
    started_us: int | None


class SettledTime(Protocol):
    """Observes one database. Owned by the reading thread."""

    def observe(self, database: Database) -> Observation:
        """Look now, and end the transaction that this needs. RetriableError: the database cannot tell now."""


class AssumedSettledTime:
    """Assumes, if the database does not tell what is open, that whatever began one settle time ago has ended."""

    def __init__(self, settle_us: int) -> None:
        self._settle_us = settle_us

    def observe(self, database: Database) -> Observation:
        """Return the database's clock, and as its settled time that clock less the settle time."""
        now = moment_us(database.scalar(sa.select(database.dialect.cursors.clock), DOING))
        database.end_transaction()
        return Observation(now, now - self._settle_us)


class BoundedSettledTime:
    """Observes a settled time that a forgotten transaction cannot hold back for ever."""

    later: str = "held until it ends"
    """A text for messages: what happens to rows newer than an open transaction."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        self.settle_us = settle_us
        self.longest_us = longest_us
        self._warned: frozenset[str] = frozenset()
        self._latest_us = 0
        self._is_back = False
        self._ahead: Mapping[str, int] = {}
        self._over: frozenset[str] = frozenset()

    def watch_clock(self, now_us: int) -> None:
        """Warn once when the database's clock goes back by more than the settle time allows for."""
        back_us = self._latest_us - now_us
        if back_us > self.settle_us and not self._is_back:
            _log.warning(
                "The database's clock went back by %.1f s, which is more than settle.time.ms: until it has caught up, "
                "rows can get timestamps that were read already, and are missed.",
                back_us / 1e6,
            )
            self._is_back = True
        elif back_us <= 0:
            self._latest_us, self._is_back = now_us, False

    def of(self, now_us: int, started: Mapping[str, int]) -> Observation:
        # After the clock went back, open work seems to begin in the future: it really began before it was first seen.
        self._ahead = {name: self._ahead.get(name, now_us) for name, at in started.items() if at > now_us}
        started = {**started, **self._ahead}
        settled = min((now_us, *started.values()))
        old = frozenset(name for name, at in started.items() if at < now_us - _WARN_AFTER_US)
        for name in sorted(old - self._warned):
            _log.warning(
                "%s has been open for more than a minute: rows newer than it are %s.",
                name,
                self.later,
            )
        self._warned = old
        limit = now_us - self.longest_us
        if settled < limit:
            over = frozenset(name for name, at in started.items() if at < limit)
            for name in sorted(over - self._over):
                _log.warning("safe.horizon.max.ms is over for %s: rows it may still commit can be lost.", name)
            self._over, settled = over, limit
        return Observation(now_us, settled - self.settle_us)
