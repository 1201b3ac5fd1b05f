"""Runs one task of mode=log: one thread reads and decodes the log, and the task thread delivers the earlier batches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from connect.api.connector import SourceContext
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.follow.failed_tables import left_aside
from connectors.jdbc.log.reading_thread import ReadingThread
from connectors.jdbc.log.shared.log_reader import LogReader
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import from_text, no_table
from connectors.jdbc.settled.progress import StoredProgress
from connectors.jdbc.values.unconvertible_rows import BadRows

OpensLog = Callable[[LogSession, Stored], LogReader]
_log = logging.getLogger(__name__)
_LOG = "log"
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
        self._reading: ReadingThread | None = None
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
        self._reading = ReadingThread(self._log(self._session, ctx.stored_offset), self._stopping)
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
