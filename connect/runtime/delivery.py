"""How a source's rows and offsets reach Kafka: at least once, or exactly once in transactions."""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.api.records import SourcePosition
from connect.kafka.errors import AbortableError, PartlySentError
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.runtime.ledger import OffsetLedger
from connect.runtime.offset_store import OffsetStore


class AtLeastOnceDelivery:
    """An idempotent producer; an offset is stored once its rows are acknowledged (invariants 1 and 3)."""

    flush_after_each_batch = False

    def __init__(self, producer: BatchProducer, offsets: OffsetStore, connector: str) -> None:
        self._producer = producer
        self._offsets = offsets
        self._connector = connector
        self._ledger = OffsetLedger()

    def send(self, batches: Sequence[RawBatch], position: SourcePosition | None, deadline: Deadline) -> None:
        """Enqueue all rows. They stay tracked until acknowledged."""
        ticket = self._ledger.track(position) if position is not None else None
        for batch in batches:
            send_all(self._producer, batch, deadline)
        if ticket is not None and not any(len(batch) for batch in batches):
            self._ledger.delivered(ticket)

    def flush(self, deadline: Deadline) -> list[SourcePosition]:
        """Wait for the rows in flight, then store the offsets behind them."""
        self._producer.flush(deadline)
        self._ledger.all_delivered()
        safe = [p for p in self._ledger.take_committable() if p.offset is not None]
        if safe:
            self._offsets.store(self._connector, safe, deadline)
        return safe

    def check(self) -> None:
        """Raise the first delivery error."""
        self._producer.check()


class ExactlyOnceDelivery:
    """One transaction holds rows and offsets up to a boundary. A crash leaves the whole of it or nothing."""

    def __init__(self, producer: BatchProducer, offsets: OffsetStore, connector: str, *, each_poll: bool) -> None:
        self._producer = producer
        self._offsets = offsets
        self._connector = connector
        self._open = False
        self._positions: dict[bytes, SourcePosition] = {}
        self.flush_after_each_batch = each_poll

    def send(self, batches: Sequence[RawBatch], position: SourcePosition | None, deadline: Deadline) -> None:
        """Enqueue all rows in the open transaction, opening one when needed."""
        if not self._open:
            self._producer.begin()
            self._open = True
        for batch in batches:
            send_all(self._producer, batch, deadline)
        if position is not None and position.offset is not None:
            self._positions[self._offsets.key(self._connector, position)] = position

    def flush(self, deadline: Deadline) -> list[SourcePosition]:
        """Add the offsets to the transaction and commit it. AbortableError: nothing of it is visible, start again."""
        if not self._open:
            return []
        positions = list(self._positions.values())
        if positions:
            send_all(self._producer, self._offsets.batch(self._connector, positions), deadline)
        try:
            self._producer.commit(deadline)
        except RetriableError as error:
            # The transaction cannot go on: more rows would be committed than the offsets in it tell of.
            raise AbortableError(f"The transaction could not be committed in time: {error}") from error
        self._open = False
        self._positions.clear()
        return positions

    def check(self) -> None:
        """Raise the first delivery error."""
        self._producer.check()


def send_all(producer: BatchProducer, batch: RawBatch, deadline: Deadline) -> None:
    """Enqueue every row, waiting for room in the producer's queue.

    AbortableError when stop ends the wait with rows left over: the batch is not sent, so its offset must not be stored.
    """
    try:
        producer.send(batch, deadline)
    except PartlySentError as error:
        raise AbortableError(f"Stopped before all rows for topic {batch.topic} were sent: {error}") from error
