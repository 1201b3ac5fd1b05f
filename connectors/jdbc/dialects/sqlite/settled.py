"""Tells SQLite's settled time, before which all transactions have ended."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.settled import Settled
from connectors.jdbc.dialects.sqlite import writers
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


class SqliteSettled(Settled):
    """Observes SQLite's settled time by looking at the lock of its one writer."""

    settle_ms = 0

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return the observer of the settled time."""
        return SqliteSettledTime(settle_us, longest_us)


@dataclass(frozen=True, slots=True)
class _Look:
    """Holds the time of a look at a database, and the `version`, which changes when another connection commits."""

    version: int
    now_us: int


class SqliteSettledTime(BoundedSettledTime):
    """Observes SQLite's one writer by its lock. The writer began after the last commit that was seen before it."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._looks: WeakKeyDictionary[sa.Connection, _Look] = WeakKeyDictionary()
        self._begun_us = 0
        self._fallback: AssumedSettledTime | None = None

    def observe(self, database: Database) -> Observation:
        """Read the clock, then look for a writer. If locks cannot be seen, assume a settle time and log a warning."""
        if self._fallback is not None:
            return self._fallback.observe(database)
        now = moment_us(database.scalar(sa.select(database.dialect.cursors.clock), DOING))
        version = int(database.scalar(sa.text("PRAGMA data_version"), DOING))
        file = database.scalar(sa.text("SELECT file FROM pragma_database_list WHERE name = 'main'"), DOING)
        database.end_transaction()
        self.watch_clock(now)
        before = self._looks.get(database.connection)
        if before is not None and before.version != version:
            # The writer of the last look has ended, and one that is writing now began later.
            self._begun_us = max(self._begun_us, before.now_us)
        self._looks[database.connection] = _Look(version, now)
        try:
            is_writing = writers.is_writing(Path(str(file)))
        except OSError as error:
            return self._without_locks(database, error)
        if not is_writing:
            self._begun_us = now
            return self.of(now, {})
        return self.of(now, {"The write transaction": max(self._begun_us, now - self.longest_us)})

    def _without_locks(self, database: Database, error: OSError) -> Observation:
        settle_us = max(self.settle_us, UNKNOWN_SETTLE_MS * 1000)
        _log.warning(
            "Whether SQLite's database is being written cannot be seen (%s), so rows younger than %d ms are left for "
            "a later read, and rows of longer transactions can be lost: let the worker read the database's files.",
            error.strerror,
            settle_us // 1000,
        )
        self._fallback = AssumedSettledTime(settle_us)
        return self._fallback.observe(database)
