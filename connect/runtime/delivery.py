"""How a source's rows and offsets reach Kafka: at least once, or exactly once in transactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.errors import AbortableError, PartlySentError
from connect.kafka.pooled_producer import RowProducer
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.runtime.exactly_once import Boundary, ConnectorTransactions, Wish
from connect.runtime.ledger import OffsetLedger, partition_key
from connect.runtime.offset_store import SourceOffsets

log = logging.getLogger(__name__)

ABORT_S: Final = 2.0
"""Time to abort what a task leaves open: less than a task gets to stop."""


class AtLeastOnceDelivery:
    """An idempotent producer; an offset is stored once its rows are acknowledged (invariants 1 and 3)."""

    def __init__(self, producer: RowProducer, offsets: SourceOffsets) -> None:
        self._producer = producer
        self._offsets = offsets
        self._ledger = OffsetLedger()
        self._unstored: dict[str, SourcePosition] = {}

    def send(self, batches: Sequence[RawBatch], position: SourcePosition | None, deadline: Deadline) -> None:
        """Enqueue all rows. They stay tracked until acknowledged."""
        ticket = self._ledger.track(position) if position is not None else None
        for batch in batches:
            send_all(self._producer, batch, deadline)
        if ticket is not None and not any(len(batch) for batch in batches):
            self._ledger.delivered(ticket)

    def flush(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Wait for the rows in flight, then store the offsets behind them. What could not be stored is kept."""
        del pending
        self._producer.flush(deadline)
        self._ledger.all_delivered()
        for position in self._ledger.take_committable():
            if position.offset is not None:
                self._unstored[partition_key(position.partition)] = position
        safe = list(self._unstored.values())
        if safe:
            self._offsets.store(safe, deadline)
        self._unstored.clear()
        return safe

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """Once in each interval."""
        del polled
        return interval_over

    def close(self) -> None:
        """Nothing is left half done: what is not stored is read again."""

    def check(self) -> None:
        """Raise the first delivery error."""
        self._producer.check()


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

    def send(self, batches: Sequence[RawBatch], position: SourcePosition | None, deadline: Deadline) -> None:
        """Enqueue all rows in the open transaction, opening one when needed."""
        for batch in batches:
            if batch.topic == self._offsets.topic:
                # A task that then looks up an offset would wait for the end of its own transaction.
                raise ConnectError(
                    "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                    f"{batch.topic}."
                )
        self._begin()
        for batch in batches:
            send_all(self._producer, batch, deadline)
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
            send_all(self._producer, self._offsets.batch(positions), deadline)
        try:
            self._producer.commit(deadline)
        except RetriableError as error:
            # The transaction cannot go on: more rows would be committed than the offsets in it tell of.
            raise AbortableError(f"The transaction could not be committed in time: {error}") from error
        self._open = False
        self._positions.clear()
        self._offsets.copy(positions)
        return positions

    def close(self) -> None:
        """Abort what is open: readers of committed records would wait for it until it times out."""
        if self._open:
            try:
                self._abort(Deadline.after(ABORT_S))
            except ConnectError as error:
                log.info("An open transaction is left to its next owner: %s", error)

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


def send_all(producer: RowProducer, batch: RawBatch, deadline: Deadline) -> None:
    """Enqueue every row, waiting for room in the producer's queue.

    AbortableError when stop ends the wait with rows left over: the batch is not sent, so its offset must not be stored.
    """
    try:
        producer.send(batch, deadline)
    except PartlySentError as error:
        raise AbortableError(f"Stopped before all rows for topic {batch.topic} were sent: {error}") from error
