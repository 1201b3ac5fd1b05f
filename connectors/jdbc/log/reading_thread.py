"""Reads a log in a thread of its own, and keeps a few batches ready for the task thread."""

from __future__ import annotations

import logging
import queue
import threading

from connect.api.errors import ConnectError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.log.shared.log_reader import LogReader
from connectors.jdbc.values.unconvertible_rows import BadRows

_log = logging.getLogger(__name__)
_READY = 4
"""At most this number of batches waits to be delivered."""
_SLICE_S = 0.05
_CLOSE_S = 5.0


class ReadingThread:
    """Runs the reading thread, and keeps the batches that it has ready."""

    def __init__(self, log: LogReader, stopping: threading.Event, *, tend_s: float = 1.0) -> None:
        """Take the reader, and the event that ends the thread. The server is answered each `tend_s` seconds while
        nobody takes batches.
        """
        self.log = log
        self._stopping = stopping
        self._tend_s = tend_s
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
        """Wait until the queue has room for an item, and answer the server meanwhile.

        An error of the server is raised when the item is in the queue: the reader goes on behind that item.
        """
        failed: Exception | None = None
        while not self._stopping.is_set():
            try:
                self._ready.put(item, timeout=self._tend_s)
            except queue.Full:
                if failed is None and not isinstance(item, BaseException):
                    failed = self._tend()
            else:
                break
        if failed is not None:
            raise failed

    def _tend(self) -> Exception | None:
        try:
            self.log.tend()
        except Exception as error:  # noqa: BLE001 - raised by the caller
            return error
        return None

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
