"""Tells MariaDB's and MySQL's settled time, before which all transactions have ended, and if ids come in order."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.dialects.generic.settled import Settled
from connectors.jdbc.dialects.mysql.innodb import open_writes
from connectors.jdbc.dialects.mysql.replication import Replication
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.settled.settled_time import (
    DOING,
    REPLICA_US,
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
_IDS = "asking how ids are given out"
_STATEMENTS = """
SELECT id, {age_ms}, user = 'system user' FROM information_schema.processlist
WHERE command NOT IN ('Sleep', 'Daemon') AND command NOT LIKE 'Binlog Dump%' AND id <> CONNECTION_ID()
  AND (info IS NULL OR info NOT LIKE 'SELECT%')
"""
"""Finds the running statements. The threads that apply a primary's log are `system user`'s in MariaDB and MySQL."""


class MySqlSettled(Settled):
    """Observes the settled time of MariaDB and MySQL, and says if ids are given out in order."""

    settle_ms = 1000

    def observer(self, settle_us: int, longest_us: int) -> SettledTime:
        """Return the observer of the settled time."""
        return MariaDbSettledTime(settle_us, longest_us)

    def out_of_order(self, database: Database, table: TableName, column: str) -> str | None:
        """Return why a row can get a smaller id than one that was committed before, and the remedy."""
        # Old servers have no such catalog. Then nothing is known, and None is returned.
        return database.told(lambda: _disorder(database, table, column))


class MariaDbSettledTime(BoundedSettledTime):
    """Observes InnoDB's transactions and the running statements of MariaDB and MySQL; needs the right PROCESS."""

    def __init__(self, settle_us: int, longest_us: int) -> None:
        super().__init__(settle_us, longest_us)
        self._waiting: Mapping[str, int] = {}
        self._replication = Replication(longest_us)
        self._fallback: AssumedSettledTime | None = None

    def observe(self, database: Database) -> Observation:
        """Look at the other connections. Without the right PROCESS, assume a settle time and log a warning."""
        if self._fallback is not None:
            return self._fallback.observe(database)
        try:
            now = moment_us(database.scalar(sa.text("SELECT UTC_TIMESTAMP(6)"), DOING))
            age_ms = "time_ms" if database.is_mariadb else "(time + 1) * 1000"
            statements = database.rows(sa.text(_STATEMENTS.format(age_ms=age_ms)), DOING)
            writes = open_writes(database, now)
        except RetriableError:
            raise
        except ConnectError as error:
            settle_us = max(self.settle_us, UNKNOWN_SETTLE_MS * 1000)
            _log.warning(
                "Open transactions cannot be seen, so rows younger than %d ms are left for a later read, and rows of "
                "longer transactions can be lost: GRANT PROCESS ON *.* TO the user. %s",
                settle_us // 1000,
                error.message,
            )
            self._fallback = AssumedSettledTime(settle_us)
            return self._fallback.observe(database)
        database.end_transaction()
        self.watch_clock(now)
        applies = any(applies for *_, applies in statements)
        reached = self._replication.reached_us(database, now, applies=applies)
        until = now if reached is None else reached - REPLICA_US
        observation = self.of(until, self._started(now, statements, writes))
        return Observation(now, observation.settled_us)

    def _started(self, now_us: int, statements: Sequence[Sequence[Any]], open_: Mapping[str, int]) -> Mapping[str, int]:
        running = {f"Connection {i}": now_us - int(ms * 1000) for i, ms, applies in statements if not applies}
        # A statement takes its timestamps when it begins, which may be long before its transaction begins.
        began = {name: min(at, self._waiting.get(name, at)) for name, at in open_.items()}
        self._waiting = {name: at for name, at in running.items() if name not in open_}
        return {name: min(running.get(name, at), at) for name, at in (running | began).items()}


def _disorder(database: Database, table: TableName, column: str) -> str | None:
    step = int(database.scalar(sa.text("SELECT @@global.auto_increment_increment"), _IDS))
    if step != 1:
        return f"several servers give them out (auto_increment_increment={step}). Use mode=timestamp+incrementing."
    return _mariadb_sequence(database, table, column) if database.is_mariadb else None


def _mariadb_sequence(database: Database, table: TableName, column: str) -> str | None:
    default = sa.text(
        "SELECT column_default FROM information_schema.columns WHERE table_schema = coalesce(:schema, database()) "
        "AND table_name = :name AND column_name = :column"
    ).bindparams(schema=table.schema, name=table.name, column=column)
    found = _NEXT_VALUE.search(str(database.scalar(default, _IDS) or ""))
    if found is None:
        return None
    sequence = found[1]
    # A sequence's cache belongs to the server and not to a session, so that numbers are given out in order.
    ((step, cycles),) = database.rows(
        sa.text(f"SELECT increment, cycle_option FROM {sequence.replace(':', chr(92) + ':')}"),  # noqa: S608 - as the catalog quotes it
        _IDS,
    )
    if step < 0 or cycles:
        return f"{sequence} does not only count up (INCREMENT {step}{', CYCLE' * bool(cycles)}). Use another mode."
    if step == 0:
        return f"several servers give them out ({sequence} has INCREMENT 0). Use mode=timestamp+incrementing."
    return None


_NEXT_VALUE = re.compile(r"nextval\(((?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))?)\)", re.IGNORECASE)
