"""Tells PostgreSQL's settled time, before which all transactions have ended, and if ids are given out in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.settled import Settled
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.settled.settled_time import (
    DOING,
    REPLICA_US,
    BoundedSettledTime,
    Observation,
    OpenWork,
    SettledTime,
)
from connectors.jdbc.values.java_zones import moment_us

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_IDS = "asking how ids are given out"
_OPEN = """
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


class PostgresSettled(Settled):
    """Observes PostgreSQL's settled time, and says if its sequences give out ids in order."""

    settle_ms = 1000

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return the observer of the settled time."""
        return PostgresSettledTime(settle_us, longest_us)

    def out_of_order(self, database: Database, table: TableName, column: str) -> str | None:
        """Return why a row can get a smaller id than one that was committed before, and the remedy."""
        # Old servers have no such catalog. Then nothing is known, and None is returned.
        return database.told(lambda: _disorder(database, table, column))


class PostgresSettledTime(BoundedSettledTime):
    """Observes the virtual transactions in pg_locks, which every user may see.

    pg_stat_activity tells members of pg_read_all_stats when they began. For other users a transaction counts as begun
    at the last observation that did not have it.
    """

    later = "read again by later polls"

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._seen: Mapping[str, int] = {}
        self._last: tuple[int, int] | None = None

    def observe(self, database: Database) -> Observation:
        """Look at the transactions of this database and at prepared ones."""
        rows = database.rows(sa.text(_OPEN), DOING)
        database.end_transaction()
        now = moment_us(rows[0][0])
        self.watch_clock(now)
        named = [(str(name), began) for _, name, began, _ in rows if name is not None]
        work = [OpenWork(name, None if began is None else moment_us(began)) for name, began in named]
        followed = rows[0][3]
        reached = now if followed is None else moment_us(followed) - REPLICA_US
        observation = self.of(reached, self._started(reached, work))
        return Observation(now, observation.settled_us)

    def _started(self, now_us: int, work: Sequence[OpenWork]) -> Mapping[str, int]:
        # A transaction that was not seen before began after the last look, or is an older one that was prepared since,
        # which gave it a new name.
        last_us, settled_us = self._last or (now_us - self.longest_us, now_us - self.longest_us)
        started = {}
        for one in work:
            unknown = settled_us if one.name.startswith("prepared") else last_us
            started[one.name] = self._seen.get(one.name, unknown if one.started_us is None else one.started_us)
        self._seen, self._last = started, (now_us, min((now_us, *started.values())))
        return started


def _disorder(database: Database, table: TableName, column: str) -> str | None:
    quote = database.connection.dialect.identifier_preparer.quote
    named = ".".join(quote(part) for part in (table.schema, table.name) if part)
    rows = database.rows(sa.text(_SEQUENCES).bindparams(named=named, name=column), _IDS)
    for sequence, cache, step, cycles in rows:
        if step < 0 or cycles:
            return f"{sequence} does not only count up (INCREMENT {step}{', CYCLE' * cycles}). Use another mode."
        if cache > 1:
            return f"each session takes {cache} ids of {sequence} at a time. ALTER SEQUENCE {sequence} CACHE 1."
    return None


# Finds the sequence that belongs to the column (serial, identity), and each sequence that its default uses otherwise:
# under another name, behind a cast, or of another table.
_SEQUENCES = """
SELECT s.seqrelid::regclass::text, s.seqcache, s.seqincrement, s.seqcycle FROM pg_catalog.pg_sequence s
WHERE s.seqrelid IN (
  SELECT d.objid FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
  WHERE d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  AND d.refobjid = to_regclass(:named) AND a.attname = :name
  UNION
  SELECT d.refobjid FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
  JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
  WHERE d.refclassid = 'pg_class'::regclass AND f.adrelid = to_regclass(:named) AND a.attname = :name
)
ORDER BY 1
"""
