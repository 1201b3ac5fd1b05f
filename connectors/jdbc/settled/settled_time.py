"""Up to when a database's work is settled: the instant before which everything that was begun has ended.

A transaction takes its ids and timestamps before it commits, so that rows appear out of order. What was begun before
the horizon has committed or was rolled back, and can add nothing any more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.cursor_comparison import clock_of
from connectors.jdbc.dialects.mysql.innodb import open_writes
from connectors.jdbc.dialects.mysql.replication import Replication
from connectors.jdbc.dialects.sqlite import writers as sqlite_writers
from connectors.jdbc.values.zone import moment_us

_log = logging.getLogger(__name__)
_DOING = "asking for open transactions"
_WARN_AFTER_US = 60_000_000
_REPLICA_US = 60_000_000
"""A replica does not see what is open on its primary, and gets it late: its horizon is that much further back."""
_UNKNOWN_SETTLE_MS = 10_000
_SETTLE_MS = {"postgresql": 1000, "mariadb": 1000, "mysql": 1000, "sqlite": 0}


@dataclass(frozen=True, slots=True)
class Observation:
    """Holds the time on the database's clock and its horizon, both in microseconds since the epoch."""

    now_us: int
    settled_us: int


@dataclass(frozen=True, slots=True)
class OpenWork:
    """A transaction or statement that has not ended. `started_us` None: the user may not see it."""

    name: str
    started_us: int | None


class Horizon(Protocol):
    """Observes one database. Owned by the reading thread."""

    def observe(self, database: Database) -> Observation:
        """Look now; the transaction this needs is ended before it returns. RetriableError: not now."""


class SettleTime:
    """Where nobody says what is open: whatever began this long ago has ended."""

    def __init__(self, settle_us: int) -> None:
        self._settle_us = settle_us

    def observe(self, database: Database) -> Observation:
        """Return the database's clock, and as its horizon that clock less the settle time."""
        now = moment_us(database.scalar(sa.select(clock_of(database.dialect_name)), _DOING))
        database.end_transaction()
        return Observation(now, now - self._settle_us)


class _Limited:
    """A horizon that a forgotten transaction cannot hold for ever."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        self._settle_us = settle_us
        self._longest_us = longest_us
        self._warned: frozenset[str] = frozenset()
        self._latest_us = 0
        self._is_back = False
        self._ahead: Mapping[str, int] = {}
        self._over: frozenset[str] = frozenset()

    def watch_clock(self, now_us: int) -> None:
        """Warn once when the database's clock goes back by more than the settle time allows for."""
        back_us = self._latest_us - now_us
        if back_us > self._settle_us and not self._is_back:
            _log.warning(
                "The database's clock went back by %.1f s, which is more than settle.time.ms: until it has caught up, "
                "rows can get timestamps that were read already, and are missed.",
                back_us / 1e6,
            )
            self._is_back = True
        elif back_us <= 0:
            self._latest_us, self._is_back = now_us, False

    def _of(self, now_us: int, started: Mapping[str, int]) -> Observation:
        # A clock that went back makes what is open begin in the future: it began before it was first seen there.
        self._ahead = {name: self._ahead.get(name, now_us) for name, at in started.items() if at > now_us}
        started = {**started, **self._ahead}
        settled = min((now_us, *started.values()))
        old = frozenset(name for name, at in started.items() if at < now_us - _WARN_AFTER_US)
        for name in sorted(old - self._warned):
            _log.warning(
                "%s has been open for more than a minute: rows newer than it are %s.",
                name,
                "read again by later polls" if isinstance(self, PostgresHorizon) else "held until it ends",
            )
        self._warned = old
        limit = now_us - self._longest_us
        if settled < limit:
            over = frozenset(name for name, at in started.items() if at < limit)
            for name in sorted(over - self._over):
                _log.warning("safe.horizon.max.ms is over for %s: rows it may still commit can be lost.", name)
            self._over, settled = over, limit
        return Observation(now_us, settled - self._settle_us)


class PostgresHorizon(_Limited):
    """PostgreSQL: the virtual transactions in pg_locks, which every user may see.

    Their start is in pg_stat_activity for members of pg_read_all_stats. For others it is after the last observation
    that did not have them.
    """

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._seen: Mapping[str, int] = {}
        self._last: tuple[int, int] | None = None

    def observe(self, database: Database) -> Observation:
        """Look at the transactions of this database and at prepared ones."""
        rows = database.rows(sa.text(_POSTGRES_OPEN), _DOING)
        database.end_transaction()
        now = moment_us(rows[0][0])
        self.watch_clock(now)
        named = [(str(name), began) for _, name, began, _ in rows if name is not None]
        work = [OpenWork(name, None if began is None else moment_us(began)) for name, began in named]
        followed = rows[0][3]
        reached = now if followed is None else moment_us(followed) - _REPLICA_US
        observation = self._of(reached, self._started(reached, work))
        return Observation(now, observation.settled_us)

    def _started(self, now_us: int, work: Sequence[OpenWork]) -> Mapping[str, int]:
        # What is new began after the last look, or is an older transaction under a new name since it was prepared.
        last_us, settled_us = self._last or (now_us - self._longest_us, now_us - self._longest_us)
        started = {}
        for one in work:
            unknown = settled_us if one.name.startswith("prepared") else last_us
            started[one.name] = self._seen.get(one.name, unknown if one.started_us is None else one.started_us)
        self._seen, self._last = started, (now_us, min((now_us, *started.values())))
        return started


_POSTGRES_OPEN = """
SELECT statement_timestamp(), NULL, NULL::timestamptz, CASE WHEN pg_is_in_recovery() THEN
  CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
    AND EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver WHERE pid IS NOT NULL) THEN statement_timestamp()
  ELSE coalesce(pg_last_xact_replay_timestamp(), statement_timestamp()) END END
UNION ALL
SELECT NULL, 'Transaction ' || l.virtualtransaction || ' of process ' || l.pid,
  CASE WHEN a.query <> '<insufficient privilege>' THEN coalesce(a.xact_start, statement_timestamp()) END, NULL
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'virtualxid' AND l.granted AND l.mode = 'ExclusiveLock' AND l.pid <> pg_backend_pid()
  AND a.datid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND NOT pg_is_in_recovery()
UNION ALL
SELECT NULL, 'Transaction ' || x || ' of the primary', NULL, NULL
FROM generate_series(txid_snapshot_xmin(txid_current_snapshot()), txid_snapshot_xmax(txid_current_snapshot()) - 1) x
WHERE pg_is_in_recovery() AND txid_status(x) = 'in progress'
UNION ALL
SELECT NULL, 'prepared transaction ' || gid, NULL, NULL
FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
"""


class MariaDbHorizon(_Limited):
    """MariaDB and MySQL: InnoDB's transactions and the statements that run; needs the right PROCESS."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._waiting: Mapping[str, int] = {}
        self._replication = Replication(longest_us)
        self._fallback: SettleTime | None = None

    def observe(self, database: Database) -> Observation:
        """Look at other connections; without the right to, fall back on a settle time and say so."""
        if self._fallback is not None:
            return self._fallback.observe(database)
        try:
            now = moment_us(database.scalar(sa.text("SELECT UTC_TIMESTAMP(6)"), _DOING))
            age_ms = "time_ms" if database.is_mariadb else "(time + 1) * 1000"
            statements = database.rows(sa.text(_MARIADB_STATEMENTS.format(age_ms=age_ms)), _DOING)
            writes = open_writes(database, now)
        except RetriableError:
            raise
        except ConnectError as error:
            settle_us = max(self._settle_us, _UNKNOWN_SETTLE_MS * 1000)
            _log.warning(
                "Open transactions cannot be seen, so rows younger than %d ms are left for a later read, and rows of "
                "longer transactions can be lost: GRANT PROCESS ON *.* TO the user. %s",
                settle_us // 1000,
                error.message,
            )
            self._fallback = SettleTime(settle_us)
            return self._fallback.observe(database)
        database.end_transaction()
        self.watch_clock(now)
        applies = any(applies for *_, applies in statements)
        reached = self._replication.reached_us(database, now, applies=applies)
        until = now if reached is None else reached - _REPLICA_US
        observation = self._of(until, self._started(now, statements, writes))
        return Observation(now, observation.settled_us)

    def _started(self, now_us: int, statements: Sequence[Sequence[Any]], open_: Mapping[str, int]) -> Mapping[str, int]:
        running = {f"Connection {i}": now_us - int(ms * 1000) for i, ms, applies in statements if not applies}
        # A statement that waited before its transaction began has taken its timestamps when it began itself.
        began = {name: min(at, self._waiting.get(name, at)) for name, at in open_.items()}
        self._waiting = {name: at for name, at in running.items() if name not in open_}
        return {name: min(running.get(name, at), at) for name, at in (running | began).items()}


@dataclass(frozen=True, slots=True)
class _Look:
    """Holds what a connection to SQLite saw. `version`: another one once somebody else has committed since."""

    version: int
    now_us: int


class SqliteHorizon(_Limited):
    """SQLite: its one writer, who is seen by its lock and whose beginning is after the last commit before it."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._looks: WeakKeyDictionary[sa.Connection, _Look] = WeakKeyDictionary()
        self._begun_us = 0
        self._fallback: SettleTime | None = None

    def observe(self, database: Database) -> Observation:
        """Look for a writer, after the clock was read; where none can be seen fall back on a settle time and say so."""
        if self._fallback is not None:
            return self._fallback.observe(database)
        now = moment_us(database.scalar(sa.select(clock_of("sqlite")), _DOING))
        version = int(database.scalar(sa.text("PRAGMA data_version"), _DOING))
        file = database.scalar(sa.text("SELECT file FROM pragma_database_list WHERE name = 'main'"), _DOING)
        database.end_transaction()
        self.watch_clock(now)
        before = self._looks.get(database.connection)
        if before is not None and before.version != version:
            # Who was writing then has ended, and who is writing now began later.
            self._begun_us = max(self._begun_us, before.now_us)
        self._looks[database.connection] = _Look(version, now)
        try:
            is_writing = sqlite_writers.is_writing(Path(str(file)))
        except OSError as error:
            return self._without_locks(database, error)
        if not is_writing:
            self._begun_us = now
            return self._of(now, {})
        return self._of(now, {"The write transaction": max(self._begun_us, now - self._longest_us)})

    def _without_locks(self, database: Database, error: OSError) -> Observation:
        settle_us = max(self._settle_us, _UNKNOWN_SETTLE_MS * 1000)
        _log.warning(
            "Whether SQLite's database is being written cannot be seen (%s), so rows younger than %d ms are left for "
            "a later read, and rows of longer transactions can be lost: let the worker read the database's files.",
            error.strerror,
            settle_us // 1000,
        )
        self._fallback = SettleTime(settle_us)
        return self._fallback.observe(database)


_MARIADB_STATEMENTS = """
SELECT id, {age_ms}, user = 'system user' FROM information_schema.processlist
WHERE command NOT IN ('Sleep', 'Daemon') AND command NOT LIKE 'Binlog Dump%' AND id <> CONNECTION_ID()
  AND (info IS NULL OR info NOT LIKE 'SELECT%')
"""
"""The threads that apply a primary's log are the system user's, in MariaDB and MySQL alike."""


def settle_ms(dialect: str, wanted: int | None) -> int:
    """Return the settle time in milliseconds: `wanted`, or where that is None the default of the dialect."""
    return _SETTLE_MS.get(dialect, _UNKNOWN_SETTLE_MS) if wanted is None else wanted


def horizon(dialect: str, wanted_ms: int | None, longest_ms: int) -> Horizon:
    """Return the horizon that observes a database of this dialect."""
    settle_us = settle_ms(dialect, wanted_ms) * 1000
    if dialect == "postgresql":
        return PostgresHorizon(settle_us, longest_ms * 1000)
    if dialect in {"mysql", "mariadb"}:
        return MariaDbHorizon(settle_us, longest_ms * 1000)
    if dialect == "sqlite":
        return SqliteHorizon(settle_us, longest_ms * 1000)
    return SettleTime(settle_us)
