"""Runs one JDBC task: a thread reads the tables in turn, and has one page ready before `poll` asks for it.

Only the reading thread touches the database, so that `poll` keeps its deadline however long a statement takes, and the
next page is read while the last one is being produced.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from connect.api.connector import SourceContext
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.follow.failed_tables import left_aside
from connectors.jdbc.follow.followed_table import FollowedTable, MakePlan, ScheduledRead, StoredOffset
from connectors.jdbc.follow.given_tables import unread_stored
from connectors.jdbc.follow.handover import Handover, PartReader, ReaderContext
from connectors.jdbc.follow.read_plan import QUERY, query_plan, table_plan
from connectors.jdbc.follow.reading import Connections, ReadingPlan
from connectors.jdbc.follow.stored_offsets import StoredOffsets
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import TableName, TablePart, from_text, no_table, parts_from_text
from connectors.jdbc.settled.progress import StoredProgress
from connectors.jdbc.values.unconvertible_rows import BadRows

_log = logging.getLogger(__name__)
MAX_OPEN_PASSES = 4
"""At most this many tables have an open statement at a time; each holds a connection."""
LEAVE_S = 2.0
"""If no page is wanted for this many seconds, passes end their transactions, so that tables can be altered and old rows
cleaned up.
"""
_SLICE_S = 0.05
_CLOSE_S = 5.0


class JdbcSourceTask:
    """Reads the tables of one task configuration. Owned by the task thread; the readers by the reading thread."""

    def __init__(self, config: JdbcTaskConfig) -> None:
        """Connect to nothing."""
        self._config = config
        self._connections = Connections(lambda: Database(config, waits=True))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jdbc-read")
        self._readers: list[ScheduledRead] = []
        self._reading: ScheduledRead | None = None
        self._reading_had_failed = False
        self._ctx: SourceContext | None = None
        self._progress = StoredProgress((), 0.0)
        self._unread_rows: list[int | None] = []
        self._bad: list[BadRows] = []
        self._ahead: Future[Batch | None] | None = None
        self._polled = threading.Event()
        self._failures = 0
        self._notes: dict[str, list[str]] = {}
        self._paced_s = 0.0
        self._closed = False

    def open(self, ctx: SourceContext) -> None:
        """Connect, look at the tables, and resume each at its stored offset."""
        tables = from_text(self._config.tables)
        if not tables and not self._config.first_reads and not self._config.query_text:
            raise no_table(self._config)
        self._ctx = ctx
        if caution := dialect_of(self._config.connection_url).caution:
            _log.warning("%s", caution)
        self._readers = self._thread.submit(self._plan, ctx).result()
        self._progress = StoredProgress((reader.label for reader in self._readers), time.time())
        self._tell_progress()
        self._judge_failures()

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next page of the next table in turn, or None if none came before the deadline."""
        self._polled.set()
        try:
            return self._next(deadline)
        finally:
            self._polled.clear()
            if not self._closed:
                self._thread.submit(self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        if any(reader.is_reading for reader in self._readers) and not self._polled.wait(LEAVE_S):
            for reader in self._readers:
                reader.leave()

    def _next(self, deadline: Deadline) -> Batch | None:
        deadline = deadline.sooner(self._config.poll_linger_ms / 1000)
        while True:
            pause_s = self._paced_s - time.monotonic()
            if self._ahead is None and pause_s > 0 and not deadline.wait(pause_s):
                return None
            if self._ahead is None and not self._read_ahead():
                rest = min(reader.due_at_s for reader in self._readers) - time.monotonic()
                if not deadline.wait(max(0.0, rest)):
                    return None
                continue
            if not self._is_ready(deadline):
                return None
            batch = self._take()
            if batch is not None:
                self._pace(len(batch))
                return batch

    def _pace(self, rows: int) -> None:
        """Read ahead, unless max.rows.per.second rows have been read."""
        if self._config.max_rows_per_second:
            self._paced_s = max(self._paced_s, time.monotonic()) + rows / self._config.max_rows_per_second
        else:
            self._read_ahead()

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Take note of what is stored, to measure the lag. The database keeps nothing that could be released."""
        self._progress.stored(positions)
        self._tell_progress()

    def close(self) -> None:
        """Break off running statements and close every connection. A second call finds nothing left to do."""
        if self._closed:
            return
        self._closed = True
        self._polled.set()
        if self._ahead is not None and not self._ahead.done():
            self._connections.interrupt()
            wait([self._ahead], timeout=_CLOSE_S)
        self._ahead = None
        wait([self._thread.submit(self._release)], timeout=_CLOSE_S)
        self._thread.shutdown(wait=False)

    def _release(self) -> None:
        for reader in self._readers:
            reader.abandon()
        self._connections.close()

    def _plan(self, ctx: SourceContext) -> list[ScheduledRead]:
        config, look_s = self._config, self._config.table_poll_interval_ms / 1000
        stored = StoredOffsets(ctx.stored_offset)
        if config.query_text:
            plans: dict[str, MakePlan] = {QUERY: lambda database, stored: query_plan(database, config, stored)}
        else:
            plans = {t.full: partial(_table_plan, table=t, config=config) for t in from_text(config.tables)}
        reject = self._bad.append
        followed = {
            n: FollowedTable(n, make, self._connections, stored, look_s, reject=reject, note=self._note)
            for n, make in plans.items()
        }
        readers: list[ScheduledRead] = list(followed.values())
        if config.mode != "bulk" and config.offset_mode == "safe" and not config.query_text:
            context = ReaderContext(config, self._connections, stored, look_s, reject)
            parts = parts_from_text(config.first_reads)
            own = {part.table: part for part in parts if part.number == 0}
            readers = [Handover(followed[t.full], own.get(t, TablePart(t)), context) for t in from_text(config.tables)]
            readers += [PartReader(part, context) for part in parts if part.number > 0]
        for reader in readers:
            try:
                reader.prepare()
            except RetriableError:
                raise
            except ConnectError as error:
                self._set_aside(reader, error)
        self._note("", unread_stored(config, ctx.stored_positions()))
        return readers

    def _note(self, label: str, notes: Sequence[str]) -> None:
        if list(notes) != self._notes.get(label, []):
            self._notes[label] = list(notes)
            if self._ctx is not None:
                self._ctx.note([note for found in self._notes.values() for note in found])

    def _set_aside(self, reader: ScheduledRead, error: ConnectError) -> None:
        _log.error("Table %s is left aside and tried again later; other tables go on. %s", reader.label, error)
        reader.fail(error)

    def _judge_failures(self) -> None:
        """Raise the error of a table if no table of the task can be read."""
        failures = self._tell_failures()
        if failures and len(failures) == len(self._readers):
            raise failures[0]

    def _tell_failures(self) -> list[ConnectError]:
        failures = [reader.failure for reader in self._readers if reader.failure is not None]
        if self._ctx is not None:
            self._ctx.gauge("tables_failed", len(failures))
            found = {r.label: str(r.failure) for r in self._readers if r.failure is not None}
            again = f"looked at again every {self._config.table_poll_interval_ms / 1000:g} s"
            self._ctx.explain(left_aside(found, again))
        return failures

    def _read_ahead(self) -> bool:
        """Start reading for the next reader in turn; return False if none is due."""
        now_s = time.monotonic()
        full = sum(reader.is_reading for reader in self._readers) >= MAX_OPEN_PASSES
        for place, reader in enumerate(self._readers):
            if reader.due_at_s <= now_s and (reader.is_reading or not full):
                self._readers = [*self._readers[:place], *self._readers[place + 1 :], reader]
                self._reading, self._reading_had_failed = reader, reader.failure is not None
                self._ahead = self._thread.submit(reader.read)
                return True
        return False

    def _is_ready(self, deadline: Deadline) -> bool:
        assert self._ahead is not None
        while not self._ahead.done() and not deadline.expired:
            # It waits for short times, as waiting for a future does not end when the task is asked to stop.
            wait([self._ahead], timeout=min(_SLICE_S, deadline.remaining_s))
        return self._ahead.done()

    def _take(self) -> Batch | None:
        assert self._ahead is not None
        ahead, self._ahead = self._ahead, None
        assert self._reading is not None
        try:
            batch = ahead.result()
        except RetriableError as error:
            self._failures += 1
            if 0 < self._config.query_retry_attempts < self._failures:
                raise ConnectError(
                    f"{error.message} Gave up after query.retry.attempts={self._config.query_retry_attempts}.",
                    key="query.retry.attempts",
                    fix="Bring the database back and restart the task, or allow more attempts.",
                ) from error
            raise
        except ConnectError as error:
            self._leave_aside(self._reading, error)
            return None
        self._failures = 0
        try:
            self._reject_bad()
        except ConnectError as error:
            # Bad rows are not tolerated: the batch is read again with them.
            self._leave_aside(self._reading, error)
            return None
        self._count(self._reading, batch)
        if self._reading_had_failed and self._reading.failure is None:
            self._tell_failures()
        return batch

    def _leave_aside(self, reader: ScheduledRead, error: ConnectError) -> None:
        self._thread.submit(self._set_aside, reader, error).result()
        self._judge_failures()

    def _reject_bad(self) -> None:
        assert self._ctx is not None
        # It is called on this thread, as the reading thread has nothing to do now.
        while self._bad:
            rows = self._bad.pop(0)
            self._ctx.reject(rows.batch, rows.reasons)

    def _count(self, reader: ScheduledRead, batch: Batch | None) -> None:
        if batch is not None:
            self._progress.given(reader.label, batch.position, len(batch))
        # Rows younger than timestamp.delay.interval.ms were left for later passes.
        delay_s = self._config.delay_ms / 1000 if "timestamp" in self._config.mode else 0.0
        self._progress.read(reader.label, None if reader.complete_s is None else reader.complete_s - delay_s)
        # These numbers are read at this place, where no page has been read that was not given yet.
        self._unread_rows = [reader.unread_rows for reader in self._readers]
        self._tell_progress()

    def _tell_progress(self) -> None:
        assert self._ctx is not None
        is_left_aside = any(reader.failure is not None for reader in self._readers)
        self._ctx.caught_up(self._progress.caught_up_s, behind=self._progress.is_behind or is_left_aside)
        known = [rows for rows in self._unread_rows if rows is not None]
        lag_rows = sum(known) + self._progress.unstored_rows
        # If the number of a table is not known, the sum of the others is a lower bound; but 0 cannot be told then.
        is_known = lag_rows or (len(known) == len(self._readers) and not is_left_aside)
        self._ctx.gauge("source_lag_rows", lag_rows if is_known else None)


def _table_plan(database: Database, stored: StoredOffset, *, table: TableName, config: JdbcTaskConfig) -> ReadingPlan:
    return table_plan(database, table, config, stored)
