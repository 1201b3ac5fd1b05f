"""Holds the session that readers of all logs share: settings, a connection for questions, heartbeats and tables."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch
from connect.api.topics import TopicRecords
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import list_tables
from connectors.jdbc.log.shared.heartbeat import Heartbeat
from connectors.jdbc.log.shared.unreadable_tables import without_right
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName

_log = logging.getLogger(__name__)
P = TypeVar("P")
Stored = Callable[[Mapping[str, object]], Mapping[str, object] | None]
"""Returns the offset that is stored for a source partition, or None if there is none."""
RecordsOf = Callable[[str, Mapping[str, str], str], TopicRecords]
COLLECT_S = 0.02
"""A chunk grows for as long as the last one took, this many seconds at most: small chunks cost about as much as large.
"""


class LogSession:
    """Holds one task's settings, tables and connection to its server.

    The reading thread owns it; another thread sets `stopping`.
    """

    def __init__(self, config: JdbcTaskConfig, tables: Sequence[TableName], stopping: threading.Event) -> None:
        """Keep the settings and tables, and connect to nothing."""
        self.config = config
        self.tables = tables
        self.stopping = stopping
        self.database = Database(config)
        self.records_of: RecordsOf | None = None
        """Opens a topic that tells the task what to do. It is None if there is no Kafka."""
        self.heartbeat = Heartbeat(config, config.heartbeat_topic)
        self.left_aside: Mapping[str, str] = {}
        """Reasons by the full names of tables that are left aside while the others go on. The task thread reads it."""
        self.caution: str | None = None
        """This is a warning if the first read that goes on now is not exact, else None. The task thread reads it."""
        self.note: str | None = None
        """This says what is missing, and what a person should change on the server, or is None if all is well.

        The task thread reads it.
        """
        self._missing: list[str] = []
        self._advice: str | None = None
        self._listed = frozenset(tables)
        self._followed: set[TableName] = set()
        self._filter = TableFilter.of(config)
        self._paced_s = 0.0

    def beat(self, place: object, query: str) -> Batch | None:
        """Return the heartbeat that is due at a place of the log; None if none is due.

        With each heartbeat record the statement `query` is run, unless it is empty.
        """
        beat = self.heartbeat.due(place)
        if beat is not None and len(beat) and query:
            try:
                self.database.commit(query, "running heartbeat.action.query")
            except RetriableError:
                raise
            except ConnectError as error:
                # As in Debezium, reading of the log goes on.
                _log.warning("%s", error)
        return beat

    def advise(self, text: str | None) -> None:
        """Keep advice about the server in place of earlier advice; None if nothing should change there."""
        self._advice = text
        self._tell_note()

    def tell_missing(self, text: str) -> None:
        """Keep a text that says what is missing. It stays while connections break, as the changes stay away."""
        self._missing = [*(one for one in self._missing if one != text), text]
        self._tell_note()

    def begin_anew(self) -> None:
        """Forget what was missing, as all tables are read anew."""
        self._missing = []
        self._tell_note()

    def _tell_note(self) -> None:
        self.note = " ".join([*self._missing, *([self._advice] if self._advice else [])]) or None

    def look_at_tables(self, is_hidden: Callable[[TableName], bool] = lambda _: False) -> None:
        """Leave out tables that are gone since the task was planned. ConnectError: no table is left.

        `is_hidden` tells if a table that the server does not list is there all the same.
        """
        present = frozenset(list_tables(self.database, self.config, self.tables))
        self.database.end_transaction()
        present |= {table for table in self.tables if table not in present and is_hidden(table)}
        gone = [table.full for table in self.tables if table not in present]
        if len(gone) == len(self.tables):
            raise ConnectError(
                f"The tables of the connector do not exist: {', '.join(gone)}.",
                key="table.whitelist",
                fix="Create them, or change the filter; then restart the connector.",
            )
        if gone:
            _log.warning("Tables that are gone are left out: %s.", ", ".join(gone))
            self.tables = [table for table in self.tables if table in present]

    def leave_aside(self, why: Mapping[TableName, str]) -> None:
        """Go on without these tables, each given with the reason. ConnectError: no table is left."""
        for table, reason in why.items():
            _log.warning("Table %s is left aside; the others go on. %s", table.full, reason)
        self.left_aside = {**self.left_aside, **{table.full: reason for table, reason in why.items()}}
        self.tables = [table for table in self.tables if table not in why]
        if not self.tables:
            reasons = " ".join(f"{table}: {reason}" for table, reason in self.left_aside.items())
            raise ConnectError(f"No table is left to follow. {reasons}", key="table.whitelist")

    def leave_unreadable_aside(self, *, is_read: Callable[[TableName], bool]) -> list[TableName]:
        """Go on without the tables that the user may not read. ConnectError: no table is left.

        Return those that this task followed before and whose first read is over, as `is_read` tells: they stay, as
        their changes would be lost.
        """
        aside = without_right(self.database, self.tables, self.config)
        kept = {table: reason for table, reason in aside.items() if table in self._followed and is_read(table)}
        self._followed |= set(self.tables) - set(aside)
        for table, reason in kept.items():
            _log.warning("Table %s may not be read any more; its log is followed. %s", table.full, reason)
        if left := {table: reason for table, reason in aside.items() if table not in kept}:
            self.leave_aside(left)
        return list(kept)

    def begin_table(self, caution: str | None) -> None:
        """Take note that the first read of a table begins.

        `caution` is logged and says why it is not exact. It is None if the read is exact.
        """
        self.caution = caution
        if caution is not None:
            _log.warning("%s", caution)

    def end_tables(self) -> None:
        """Take note that the first read is over."""
        self.caution = None

    @property
    def page_rows(self) -> int:
        """Return how many rows a page of a first read has at most."""
        return self.config.paced(self.config.max_batch_size)

    def pace(self, rows: int) -> None:
        """Wait until max.rows.per.second allows more rows of a first read."""
        if self.config.max_rows_per_second:
            self._paced_s = max(self._paced_s, time.monotonic()) + rows / self.config.max_rows_per_second
            self.stopping.wait(max(0.0, self._paced_s - time.monotonic()))

    def chooses(self, table: TableName) -> bool:
        """Tell if changes of a table are wanted: the table was there at the start, or the configuration's filter
        selects it.
        """
        is_chosen = table in self._listed or self._filter.selects(table)
        return is_chosen and table.full not in self.left_aside


def resumed(offset: Mapping[str, Any] | None, read: Callable[[Mapping[str, Any]], P]) -> P | None:
    """Return the place in the log of a stored offset, or None if none is stored.

    ConnectError: mode=log did not write it.
    """
    if offset is None:
        return None
    try:
        return read(offset)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConnectError(
            f"The stored offset cannot be used with mode=log: {error}.", fix="Reset the connector's offsets."
        ) from error
