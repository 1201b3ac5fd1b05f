"""Brings a source's rows and offsets to Kafka at least once; `transactional_delivery` does so exactly once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.client.errors import AbortableError, PartlySentError
from connect.kafka.produce.pooled_producer import RowProducer
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.ledger import OffsetLedger, partition_key
from connect.runtime.source.offset_store import SourceOffsets

log = logging.getLogger(__name__)

_ROOM_S: Final = 1.0
"""One wait for room in a producer's queue lasts so many seconds at most."""


class AtLeastOnceDelivery:
    """Sends rows by an idempotent producer, and stores an offset once its rows are acknowledged (invariants 1 and 3).

    Rows are sent on meanwhile. Rows that Kafka does not take hold back only the offsets of their own source partition.
    """

    expects_more: Final = False

    def __init__(self, producer: RowProducer, offsets: SourceOffsets) -> None:
        self._producer = producer
        self._offsets = offsets
        self._ledger = OffsetLedger()
        self._receipt = Receipt()
        """It counts the rows in front of the next position. Batches that come without a position belong to the next."""
        self._unstored: dict[str, SourcePosition] = {}
        self._is_behind = False
        self.held_up: str | None = None

    @property
    def outstanding(self) -> int:
        """Return the number of rows that were sent and are not acknowledged yet."""
        return self._producer.outstanding

    @property
    def is_settled(self) -> bool:
        """Return True if no batch waits for its rows, and no position to be stored."""
        return self._ledger.is_empty and not self._unstored and not self._producer.outstanding

    def send(
        self,
        batches: Sequence[RawBatch],
        positions: Sequence[SourcePosition],
        deadline: Deadline,
        meanwhile: Callable[[], None],
    ) -> None:
        """Enqueue all rows, and track them until they are acknowledged."""
        for batch in batches:
            send_all(self._producer, batch, deadline, self._receipt, meanwhile)
        for position in positions:
            self._ledger.track(position, self._receipt)
        if positions:
            self._receipt = Receipt()

    def flush(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Store the offsets whose rows are acknowledged by now. Those that could not be stored are kept."""
        del pending
        self._producer.check()
        stored = self._store(deadline)
        self._is_behind = not self._ledger.is_settled
        late = self._ledger.take_late()
        self.held_up = _held_up(late) if late else None
        return stored

    def drain(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Wait for unacknowledged rows, for at most half of the time, then store the offsets that are safe."""
        del pending
        try:
            self._producer.flush(deadline.sooner(deadline.remaining_s / 2))
        except RetriableError as error:
            log.warning("The offsets behind some rows are not stored: %s", error)
        return self._store(deadline)

    def leave(self, deadline: Deadline, *, pending: bool = False) -> list[SourcePosition]:
        """Do as `drain`, also if the producer cannot go on: rows that are in Kafka are not to be read again."""
        try:
            return self.drain(deadline, pending=pending)
        except ConnectError as error:
            log.warning("The offsets behind rows that are not in Kafka are not stored: %s", error)
        return self._store(deadline)

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """Return True once in each interval, and again when the rows that were on their way then are acknowledged."""
        del polled
        return interval_over or (self._is_behind and self._ledger.is_settled)

    def close(self) -> None:
        """Have no offset stored from now on, as the next run of the task may run elsewhere, and store later ones.

        Rows whose offset is not stored are read again.
        """
        self._offsets.close()

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


def _held_up(late: Sequence[SourcePosition]) -> str:
    return (
        f"Kafka has not acknowledged rows of {len(late)} source partitions since the last flush; their offsets wait, "
        f"first that of {dict(late[0].partition)}."
    )


def send_all(
    producer: RowProducer, batch: RawBatch, deadline: Deadline, receipt: Receipt, meanwhile: Callable[[], None]
) -> None:
    """Enqueue every row, waiting for room in the producer's queue, and calling `meanwhile` from time to time then.

    Raise AbortableError if a stop ends the wait with rows left over: then the batch's offset must not be stored.
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
