"""Runs one task of mode=log: one thread reads and decodes the log, and the task thread delivers the earlier batches."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from connect.api.connector import SourceContext
from connect.api.errors import ConnectError
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.follow.failed_tables import left_aside
from connectors.jdbc.log.shared.log_reader import LogReader
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import from_text, no_table
from connectors.jdbc.settled.progress import StoredProgress
from connectors.jdbc.values.unconvertible_rows import BadRows

OpensLog = Callable[[LogSession, Stored], LogReader]
_log = logging.getLogger(__name__)
_LOG = "log"
_READY = 4
"""At most this number of batches waits to be delivered."""
_SLICE_S = 0.05
_TEND_S = 1.0
_CLOSE_S = 5.0
END_KNOWN_S = 10.0
"""A task that has not been at the log's end for this many seconds may be behind. The end is asked for about each
second.
"""


class JdbcLogTask:
    """Reads the log for the tables of one task configuration. Owned by the task thread."""

    def __init__(self, config: JdbcTaskConfig, log: OpensLog | None = None) -> None:
        """Keep the settings; connect to nothing. `log` opens a reader that makes other records than mode=log does."""
        self._config = config
        self._log = log or _log_of(config)
        self._ctx: SourceContext | None = None
        self._stopping = threading.Event()
        self._reading: _Reading | None = None
        self._session = LogSession(config, from_text(config.tables), self._stopping)
        self._paced_s = 0.0
        self._progress = StoredProgress((), 0.0)
        self._given_s = 0.0
        self._end_seen_s = 0.0
        """The time, in epoch seconds, at which the log was last seen to hold nothing behind the batches that were
        given.
        """
        self._explained: str | None = None

    def open(self, ctx: SourceContext) -> None:
        """Resume at the stored offset."""
        if not from_text(self._config.tables):
            raise no_table(self._config)
        self._ctx = ctx
        self._session.records_of = ctx.records_of
        self._reading = _Reading(self._log(self._session, ctx.stored_offset), self._stopping)
        self._progress = StoredProgress([_LOG], time.time())
        self._tell_progress(ctx)

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next batch.

        After a RetriableError the next call connects anew and goes on behind the last batch.
        """
        assert self._reading is not None
        assert self._ctx is not None
        self._ctx.gauge("slot_retained_bytes", self._reading.log.retained_bytes)
        self._tell_unread(self._ctx)
        self._explain(self._ctx)
        # The time is read before the batch is taken, so that everything that was read until then is in a batch.
        end_s = self._reading.log.end.reached_s
        pause_s = self._paced_s - time.monotonic()
        if pause_s > 0 and not deadline.wait(pause_s):
            return None
        batch = self._reading.next(deadline)
        while isinstance(batch, BadRows):
            self._ctx.reject(batch.batch, batch.reasons)
            batch = self._reading.next(deadline)
        if batch is not None:
            self._progress.given(_LOG, batch.position, len(batch))
            end_s, self._given_s = _commit_s(batch.position), time.time()
        elif end_s is not None and end_s > self._given_s:
            self._end_seen_s = end_s
        self._progress.read(_LOG, end_s)
        self._tell_progress(self._ctx)
        if batch is not None and self._config.max_rows_per_second:
            self._paced_s = max(self._paced_s, time.monotonic()) + len(batch) / self._config.max_rows_per_second
        return batch

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Let the server forget the log before these positions."""
        assert self._reading is not None
        self._reading.log.stored(positions)
        self._progress.stored(positions)
        assert self._ctx is not None
        self._tell_progress(self._ctx)

    def _tell_unread(self, ctx: SourceContext) -> None:
        assert self._reading is not None
        unread_bytes = self._reading.log.end.unread_bytes
        ctx.gauge("source_lag_bytes", unread_bytes)
        # The number of rows in the unread log is not known before it is read. At the log's end all rows are here.
        rows = self._reading.waiting_rows + self._progress.unstored_rows
        ctx.gauge("source_lag_rows", rows if unread_bytes == 0 else None)

    def _tell_progress(self, ctx: SourceContext) -> None:
        end_is_known = self._end_seen_s > self._given_s and time.time() - self._end_seen_s < END_KNOWN_S
        ctx.caught_up(self._progress.caught_up_s, behind=self._progress.is_behind or not end_is_known)

    def _explain(self, ctx: SourceContext) -> None:
        aside = left_aside(self._session.left_aside, "until the task is restarted")
        text = " ".join(part for part in (self._session.caution, aside, self._session.note) if part) or None
        if text != self._explained:
            self._explained = text
            ctx.explain(text)

    def close(self) -> None:
        """Break off what is running and leave the server. A second call finds nothing left to do."""
        self._stopping.set()
        if self._reading is not None:
            self._reading.end()


def _commit_s(position: SourcePosition | None) -> float | None:
    """Return when the last transaction before the position was committed, in epoch seconds, or None if that is not
    known.
    """
    offset = {} if position is None or position.offset is None else position.offset
    if offset.get("snapshot"):
        return None
    match offset:
        case {"ts_usec": int(us)}:
            at_s = us / 1_000_000
        case {"ts_sec": int(second)}:
            at_s = float(second)
        case _:
            return None
    # The server's clock may be ahead.
    return min(at_s, time.time())


def _log_of(config: JdbcTaskConfig) -> OpensLog:
    log = dialect_of(config.connection_url).log
    assert log is not None  # as the settings were checked
    return log.reader


class _Reading:
    """Runs the reading thread, and keeps the batches that it has ready."""

    def __init__(self, log: LogReader, stopping: threading.Event) -> None:
        self.log = log
        self._stopping = stopping
        self._ready: queue.Queue[Batch | BadRows | BaseException] = queue.Queue(_READY)
        self._thread: threading.Thread | None = None
        self._read_rows = self._taken_rows = 0

    @property
    def waiting_rows(self) -> int:
        """Return how many rows were read and not taken. Rows read and rows taken are counted by one thread each."""
        return self._read_rows - self._taken_rows

    def next(self, deadline: Deadline) -> Batch | BadRows | None:
        """Return the next batch, or raise the error that ended the thread; the call after that starts a new thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="jdbc-log", daemon=True)
            self._thread.start()
        while True:
            try:
                # It waits for short times, as waiting at a queue does not end when the task is asked to stop.
                item = self._ready.get(timeout=max(0.0, min(_SLICE_S, deadline.remaining_s)))
            except queue.Empty:
                if deadline.expired:
                    return None
                continue
            if isinstance(item, BaseException):
                self._thread.join()
                self._thread = None
                raise item
            self._taken_rows += _rows_of(item)
            return item

    def _run(self) -> None:
        try:
            for batch in self.log.batches():
                if self._stopping.is_set():
                    return
                if batch is not None:
                    self._read_rows += _rows_of(batch)
                    self._put(batch)
        except BaseException as error:  # noqa: BLE001 - raised again in the task thread
            self._put(error)
        finally:
            self._leave()

    def _put(self, item: Batch | BadRows | BaseException) -> None:
        while not self._stopping.is_set():
            with suppress(queue.Full):
                self._ready.put(item, timeout=_TEND_S)
                return
            if not isinstance(item, BaseException):
                self.log.tend()

    def _leave(self) -> None:
        try:
            self.log.close()
        except ConnectError as error:
            _log.warning("Leaving the database: %s", error)

    def end(self) -> None:
        """Wait for the thread to end."""
        if self._thread is None:
            return
        self.log.interrupt()
        self._thread.join(_CLOSE_S)


def _rows_of(item: Batch | BadRows) -> int:
    return len(item.batch if isinstance(item, BadRows) else item)
