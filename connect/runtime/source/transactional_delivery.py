"""Delivers a source's rows and offsets to Kafka exactly once: in one transaction up to each boundary (KIP-618).

A producer has one transaction at a time. Another thread commits it while the task reads and converts the next rows.
The next transaction begins when the commit is done.

A commit waits for all rows on their way, and nothing new is sent meanwhile. A source that is behind is read for
throughput: its polls share a transaction of up to two seconds. One that keeps up is read for latency: each of its polls
is committed at once, as Java's are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.client.errors import AbortableError
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.delivery import send_all
from connect.runtime.source.exactly_once import Boundary, ConnectorTransactions, TransactionEnd
from connect.runtime.source.offset_store import SourceOffsets

log = logging.getLogger(__name__)

ABORT_S: Final = 2.0
"""A task that ends has so much time to commit or abort its transaction; it is less than a task gets to stop."""
SHARED_S: Final = 2.0
"""A transaction is kept open for so long for further polls of a source that is behind."""
_WAIT_S: Final = 0.1


class ExactlyOnceDelivery:
    """Delivers rows and offsets up to a boundary in one transaction. A crash leaves the whole of it or nothing.

    Owned by the task thread, which leaves the producer alone while a commit is under way.
    """

    held_up: str | None = None
    """Is always None, as a commit is done in time or fails."""

    def __init__(
        self,
        producer: BatchProducer,
        offsets: SourceOffsets,
        boundary: Boundary,
        transactions: ConnectorTransactions | None = None,
        is_behind: Callable[[], bool] = lambda: False,
        *,
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Take the producer, the offsets, and what ends a transaction.

        `transactions` tells which end the connector wants, for Boundary.CONNECTOR. `is_behind` tells if the source has
        more rows than it has given, for Boundary.POLL. `on_commit` gets the number of rows of each transaction.
        """
        self._producer = producer
        self._offsets = offsets
        self._boundary = boundary
        self._transactions = transactions
        self._is_behind = is_behind
        self._on_commit = on_commit
        self.outstanding = 0
        self._is_open = False
        self._opened_s = 0.0
        self.expects_more = False
        self._positions: dict[bytes, SourcePosition] = {}
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._commit: Future[None] | None = None
        """Is the commit that is under way, or whose result was not looked at yet."""
        self._in_commit: list[SourcePosition] = []
        self._committed: dict[bytes, SourcePosition] = {}
        """Holds committed positions that `flush` has not returned yet, by their record keys."""
        self._given_up = threading.Event()

    @property
    def is_settled(self) -> bool:
        """Return True if no transaction is open or being committed, and all positions of the last one were told of."""
        return not (self._is_open or self._positions or self._committed)

    def send(
        self,
        batches: Sequence[RawBatch],
        positions: Sequence[SourcePosition],
        deadline: Deadline,
        meanwhile: Callable[[], None],
    ) -> None:
        """Enqueue all rows in the open transaction. If none is open, open one once the last one is committed."""
        del meanwhile  # a flush meanwhile would commit a part of the batch
        for batch in batches:
            if batch.topic == self._offsets.topic:
                # Otherwise a task that looks up an offset would wait for the end of its own transaction.
                raise ConnectError(
                    "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                    f"{batch.topic}."
                )
        self._await_commit(deadline)
        self._begin()
        for batch in batches:
            self._send(batch, deadline)
        self.outstanding += sum(map(len, batches))
        for position in positions:
            if position.offset is not None:
                self._positions[self._offsets.key(position)] = position

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """Return True if the boundary is reached, or a commit is done."""
        if self._commit is not None and self._commit.done():
            return True
        match self._boundary:
            case Boundary.POLL:
                if not polled:
                    return self.expects_more  # the poll brought no rows, so the transaction need not wait longer
                self.expects_more = time.monotonic() - self._opened_s < SHARED_S and self._is_behind()
                return not self.expects_more
            case Boundary.INTERVAL:
                return interval_over
            case Boundary.CONNECTOR:
                return self._transactions is not None and self._transactions.requested_end is not None

    def flush(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Begin to commit rows and offsets, and return the positions that were committed since the last call.

        A transaction stays open that the connector has not ended, or has ended with a batch that is still `pending`.
        Raise AbortableError if nothing of the last transaction is visible: the task has to start again.
        """
        if self._commit is None or self._commit.done():
            self._await_commit(deadline)
            if self._ends(deadline, pending=pending):
                self._begin_commit(deadline)
        return self._take_committed()

    def drain(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Commit the transaction, and wait until it is committed."""
        self._await_commit(deadline)
        if self._ends(deadline, pending=pending):
            self._begin_commit(deadline)
            self._await_commit(deadline)
        return self._take_committed()

    def leave(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Store nothing: the open transaction may have rows in part, and `close` aborts it."""
        del deadline, pending
        return []

    def check(self) -> None:
        """Raise the first delivery error."""
        if self._commit is None:
            self._producer.check()

    def close(self) -> None:
        """Abort an open transaction, as readers of committed records would wait for it until it times out."""
        if self._commit is not None:
            wait([self._commit], ABORT_S)
        self._given_up.set()
        self._committer.shutdown()
        for end in (self._await_commit, self._abort):
            try:
                end(Deadline.after(ABORT_S))
            except ConnectError as error:
                log.info("An open transaction is left to its next owner: %s", error)

    def _take_committed(self) -> list[SourcePosition]:
        committed = list(self._committed.values())
        self._committed.clear()
        return committed

    def _ends(self, deadline: Deadline, *, pending: bool) -> bool:
        """Tell if there is something to commit now."""
        if self._transactions is not None:
            end = None if pending else self._transactions.take()
            if end is None:
                return False
            if end is TransactionEnd.ABORT:
                self._abort(deadline)
        return self._is_open or bool(self._positions)

    def _begin_commit(self, deadline: Deadline) -> None:
        self.expects_more = False
        self._begin()  # after an abort the offsets are committed without rows
        positions = list(self._positions.values())
        if positions:
            self._send(self._offsets.batch(positions), deadline)
        self._in_commit = positions
        self._positions.clear()
        until = Deadline(deadline.at_s, self._given_up)
        self._commit = self._committer.submit(copy_context().run, self._producer.commit, until)

    def _await_commit(self, deadline: Deadline) -> None:
        """Wait until no commit is under way, and note what the last one has committed."""
        if self._commit is None:
            return
        while not self._commit.done() and not deadline.expired:
            wait([self._commit], min(_WAIT_S, deadline.remaining_s))
        wait([self._commit], ABORT_S)  # a commit of a task that stops may still take a moment
        if not self._commit.done():
            raise AbortableError("The task ended before its last transaction was known to be committed.")
        commit, self._commit = self._commit, None
        try:
            commit.result()
        except RetriableError as error:
            # The transaction cannot go on: more rows would be committed than the offsets in it tell of.
            raise AbortableError(f"The transaction could not be committed in time: {error}") from error
        self._is_open = False
        self._on_commit(self.outstanding)
        self.outstanding = 0
        self._offsets.copy(self._in_commit)
        self._committed |= {self._offsets.key(position): position for position in self._in_commit}

    def _send(self, batch: RawBatch, deadline: Deadline) -> None:
        try:
            send_all(self._producer, batch, deadline, Receipt(), lambda: None)
        except RetriableError as error:
            # Nobody knows which rows the transaction has. If they were sent once more, they could be committed twice.
            raise AbortableError(f"A batch for topic {batch.topic} is in the transaction in part: {error}") from error

    def _begin(self) -> None:
        if not self._is_open:
            self._producer.begin()
            self._is_open = True
            self._opened_s = time.monotonic()

    def _abort(self, deadline: Deadline) -> None:
        if self._is_open:
            try:
                self._producer.abort(deadline)
            except RetriableError as error:
                raise AbortableError(f"The transaction could not be aborted in time: {error}") from error
            self._is_open = False
            self.outstanding = 0
