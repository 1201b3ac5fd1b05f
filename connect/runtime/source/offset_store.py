"""Keeps source offsets in Kafka, never in a local file. An offset is written after its rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait

from connect.api.errors import RetriableError
from connect.api.records import SourcePosition
from connect.api.state import require_known
from connect.kafka.log.kv_log import KeyValueLog
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.ledger import partition_key
from connect.runtime.source.offset_records import OffsetTable

log = logging.getLogger(__name__)


class OffsetStore:
    """Holds the offsets topic as a table, which the tasks of a host share. Only the log's reader thread changes it."""

    def __init__(self, kv_log: KeyValueLog, table: OffsetTable, topic: str) -> None:
        self._log = kv_log
        self._table = table
        self._topic = topic

    @property
    def topic(self) -> str:
        """Return the name of the offsets topic."""
        return self._topic

    def read_to_end(self, deadline: Deadline) -> None:
        """See everything committed before this call."""
        self._log.read_to_end(deadline)

    def get(self, connector: str, partition: Mapping[str, object]) -> dict[str, object] | None:
        """Return the stored offset of a source partition; None when there is none."""
        return self._table.get(connector, partition)

    def key(self, connector: str, position: SourcePosition) -> bytes:
        """Return the record key of a position: the bytes already stored, else new ones."""
        return self._table.key(connector, position.partition)

    def put(self, connector: str, positions: Sequence[SourcePosition]) -> list[Future[None]]:
        """Write positions; each future ends when Kafka has one."""
        return [self._log.put(*self._table.record(connector, position)) for position in positions]

    def give_up(self, reason: str) -> None:
        """Fail all positions on the way, also those of other connectors, so that none of them is written later."""
        self._log.give_up(reason)

    def positions(self, connector: str) -> list[SourcePosition]:
        """Return all stored positions of a connector."""
        return self._table.of_connector(connector)

    def batch(self, connector: str, positions: Sequence[SourcePosition]) -> RawBatch:
        """Return positions as records, which the task's own producer writes in its transaction."""
        import pyarrow as pa

        records = [self._table.record(connector, position) for position in positions]
        keys = pa.array([key for key, _ in records], pa.binary())
        return RawBatch(topic=self._topic, keys=keys, values=pa.array([value for _, value in records], pa.binary()))


class SourceOffsets:
    """Holds the offsets of one connector: in its own topic with a copy in the worker's, or in the worker's alone.

    Rules of org.apache.kafka.connect.storage.ConnectorOffsetBackingStore (Kafka 4.1): what the connector's topic lacks
    is read from the worker's; the copy is best effort, except that an offset is removed from the worker's topic first,
    or it would come back from there.
    """

    def __init__(self, connector: str, store: OffsetStore, fallback: OffsetStore | None = None) -> None:
        """Take the store whose offsets count first. `fallback` is the worker's, if `store` is the connector's own."""
        self._connector = connector
        self._store = store
        self._fallback = fallback
        self._late: list[tuple[OffsetStore, Future[None]]] = []
        """Holds the writes that were not acknowledged when the time for them was over, with the store that has each."""

    @property
    def topic(self) -> str:
        """Return the name of the topic whose offsets count first."""
        return self._store.topic

    def read_to_end(self, deadline: Deadline) -> None:
        """See everything committed before this call."""
        if self._fallback is not None:
            self._fallback.read_to_end(deadline)
        self._store.read_to_end(deadline)

    def get(self, partition: Mapping[str, object]) -> dict[str, object] | None:
        """Return the stored offset of a source partition, or None. Raise NewerFormatError if its format is newer."""
        found = self._store.get(self._connector, partition)
        if found is None and self._fallback is not None:
            found = self._fallback.get(self._connector, partition)
        if found is not None:
            require_known(found, f"The offset that topic {self.topic} has of connector {self._connector}")
        return found

    def positions(self) -> list[SourcePosition]:
        """Return all stored positions. Where both topics have an offset, the first topic's counts."""
        older = () if self._fallback is None else self._fallback.positions(self._connector)
        found = {partition_key(p.partition): p for p in (*older, *self._store.positions(self._connector))}
        return list(found.values())

    def key(self, position: SourcePosition) -> bytes:
        """Return the record key of a position."""
        return self._store.key(self._connector, position)

    def batch(self, positions: Sequence[SourcePosition]) -> RawBatch:
        """Return positions as records for the transaction of the task's own producer. Call `copy` after its commit."""
        return self._store.batch(self._connector, positions)

    def store(self, positions: Sequence[SourcePosition], deadline: Deadline) -> None:
        """Write positions and wait until Kafka has them. RetriableError when the deadline passes first."""
        self.forget_copies(positions, deadline)
        self._put(self._store, positions, deadline)
        self.copy(positions)

    def forget_copies(self, positions: Sequence[SourcePosition], deadline: Deadline) -> None:
        """Remove the worker's copies of those positions whose offset is None. Call it before `positions` are stored."""
        gone = [position for position in positions if position.offset is None]
        if gone and self._fallback is not None:
            self._put(self._fallback, gone, deadline)

    def copy(self, positions: Sequence[SourcePosition]) -> list[Future[None]]:
        """Copy written positions into the worker's topic, without waiting. A failure is logged."""
        if self._fallback is None:
            return []
        copies = self._fallback.put(self._connector, [p for p in positions if p.offset is not None])
        for written in copies:
            written.add_done_callback(self._note)
        return copies

    def close(self) -> None:
        """Have no position written that was not acknowledged yet: it could come behind those of the task's next run."""
        for store in {store for store, written in self._late if not written.done()}:
            store.give_up("a task ended before its offsets were acknowledged")

    def _put(self, store: OffsetStore, positions: Sequence[SourcePosition], deadline: Deadline) -> None:
        written = store.put(self._connector, positions)
        done = wait(written, timeout=deadline.remaining_s)
        self._late = [(kept, late) for kept, late in self._late if not late.done()]
        self._late += [(store, late) for late in done.not_done]
        for future in done.done:
            future.result()
        if done.not_done:
            raise RetriableError(f"{len(done.not_done)} of {len(written)} offsets were not acknowledged in time.")

    def _note(self, written: Future[None]) -> None:
        if (error := written.exception()) is not None:
            log.warning("Connector %s: an offset was not copied to the worker's topic: %s", self._connector, error)
