"""How a source's rows and offsets reach Kafka: at least once, or exactly once in transactions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.errors import AbortableError, PartlySentError
from connect.kafka.pooled_producer import RowProducer
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.kafka.receipt import Receipt
from connect.runtime.exactly_once import Boundary, ConnectorTransactions, Wish
from connect.runtime.ledger import OffsetLedger, partition_key
from connect.runtime.offset_store import SourceOffsets

log = logging.getLogger(__name__)

_ROOM_S: Final = 1.0
"""How long one wait for room in a producer's queue may last."""
ABORT_S: Final = 2.0
"""Time to abort what a task leaves open: less than a task gets to stop."""


class AtLeastOnceDelivery:
    """An idempotent producer; an offset is stored once its rows are acknowledged (invariants 1 and 3).

    Rows go on being sent meanwhile, and rows that Kafka does not take hold back the offsets of their own source
    partition alone.
    """

    def __init__(self, producer: RowProducer, offsets: SourceOffsets) -> None:
        self._producer = producer
        self._offsets = offsets
        self._ledger = OffsetLedger()
        self._unstored: dict[str, SourcePosition] = {}
        self._is_behind = False

    def send(
        self,
        batches: Sequence[RawBatch],
        position: SourcePosition | None,
        deadline: Deadline,
        meanwhile: Callable[[], None],
    ) -> None:
        """Enqueue all rows. They stay tracked until acknowledged."""
        receipt = Receipt()
        for batch in batches:
            _send_waiting(self._producer, batch, deadline, receipt, meanwhile)
        if position is not None:
            self._ledger.track(position, receipt)

    def flush(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Store the offsets behind rows that are acknowledged by now. What could not be stored is kept."""
        del pending
        self._producer.check()
        stored = self._store(deadline)
        self._is_behind = not self._ledger.is_settled
        if late := self._ledger.take_late():
            log.warning(
                "Kafka has not acknowledged the rows of %d source partitions since the last flush. Their offsets wait, "
                "first that of %s.",
                len(late),
                dict(late[0].partition),
            )
        return stored

    def drain(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Wait for the rows on their way, half of the time at most, then store what is safe."""
        del pending
        try:
            self._producer.flush(deadline.sooner(deadline.remaining_s / 2))
        except RetriableError as error:
            log.warning("The offsets behind some rows are not stored: %s", error)
        return self._store(deadline)

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """Once in each interval, and again when the rows that were on their way then are acknowledged."""
        del polled
        return interval_over or (self._is_behind and self._ledger.is_settled)

    def close(self) -> None:
        """Nothing is left half done: what is not stored is read again."""

    def check(self) -> None:
        """Raise the first delivery error."""
        self._producer.check()

    def _store(self, deadline: Deadline) -> list[SourcePosition]:
        for position in self._ledger.take_committable():
            if position.offset is not None:
                self._unstored[partition_key(position.partition)] = position
        safe = list(self._unstored.values())
        if safe:
            self._offsets.store(safe, deadline)
        self._unstored.clear()
        return safe


class ExactlyOnceDelivery:
    """One transaction holds rows and offsets up to a boundary. A crash leaves the whole of it or nothing."""

    def __init__(
        self,
        producer: BatchProducer,
        offsets: SourceOffsets,
        boundary: Boundary,
        transactions: ConnectorTransactions | None = None,
    ) -> None:
        """`transactions`: what the connector wants, for Boundary.CONNECTOR."""
        self._producer = producer
        self._offsets = offsets
        self._boundary = boundary
        self._transactions = transactions
        self._open = False
        self._positions: dict[bytes, SourcePosition] = {}

    def send(
        self,
        batches: Sequence[RawBatch],
        position: SourcePosition | None,
        deadline: Deadline,
        meanwhile: Callable[[], None],
    ) -> None:
        """Enqueue all rows in the open transaction, opening one when needed."""
        del meanwhile  # what would be committed then is a batch in part
        for batch in batches:
            if batch.topic == self._offsets.topic:
                # A task that then looks up an offset would wait for the end of its own transaction.
                raise ConnectError(
                    "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                    f"{batch.topic}."
                )
        self._begin()
        for batch in batches:
            self._send(batch, deadline)
        if position is not None and position.offset is not None:
            self._positions[self._offsets.key(position)] = position

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """The boundary is reached."""
        match self._boundary:
            case Boundary.POLL:
                return polled
            case Boundary.INTERVAL:
                return interval_over
            case Boundary.CONNECTOR:
                return self._transactions is not None and self._transactions.wish is not None

    def flush(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Add the offsets to the transaction and commit it. AbortableError: nothing of it is visible, start again.

        A transaction that the connector has not ended, or ended with a batch that is `pending`, stays open.
        """
        if self._transactions is not None:
            if pending:
                return []
            match self._transactions.take():
                case None:
                    return []
                case Wish.ABORT:
                    self._abort(deadline)
        if not self._open and not self._positions:
            return []
        self._begin()  # after an abort the offsets go alone
        positions = list(self._positions.values())
        if positions:
            self._send(self._offsets.batch(positions), deadline)
        try:
            self._producer.commit(deadline)
        except RetriableError as error:
            # The transaction cannot go on: more rows would be committed than the offsets in it tell of.
            raise AbortableError(f"The transaction could not be committed in time: {error}") from error
        self._open = False
        self._positions.clear()
        self._offsets.copy(positions)
        return positions

    def drain(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Commit as `flush` does, which waits for every row."""
        return self.flush(deadline, pending=pending)

    def close(self) -> None:
        """Abort what is open: readers of committed records would wait for it until it times out."""
        if self._open:
            try:
                self._abort(Deadline.after(ABORT_S))
            except ConnectError as error:
                log.info("An open transaction is left to its next owner: %s", error)

    def _send(self, batch: RawBatch, deadline: Deadline) -> None:
        try:
            _send_waiting(self._producer, batch, deadline, Receipt(), lambda: None)
        except RetriableError as error:
            # Nobody knows which rows the transaction has; sent once more they would be committed twice.
            raise AbortableError(f"A batch for topic {batch.topic} is in the transaction in part: {error}") from error

    def _begin(self) -> None:
        if not self._open:
            self._producer.begin()
            self._open = True

    def _abort(self, deadline: Deadline) -> None:
        if self._open:
            try:
                self._producer.abort(deadline)
            except RetriableError as error:
                raise AbortableError(f"The transaction could not be aborted in time: {error}") from error
            self._open = False

    def check(self) -> None:
        """Raise the first delivery error."""
        self._producer.check()


def _send_waiting(
    producer: RowProducer, batch: RawBatch, deadline: Deadline, receipt: Receipt, meanwhile: Callable[[], None]
) -> None:
    """Enqueue every row, waiting for room in the producer's queue, and calling `meanwhile` from time to time then.

    AbortableError when stop ends the wait with rows left over: the batch is not sent, so its offset must not be stored.
    """
    while True:
        try:
            producer.send(batch, deadline.sooner(_ROOM_S), receipt)
        except PartlySentError as error:
            if deadline.expired:
                raise AbortableError(f"Stopped before all rows for topic {batch.topic} were sent: {error}") from error
            meanwhile()
        else:
            return
