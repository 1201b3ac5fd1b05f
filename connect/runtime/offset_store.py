"""Source offsets in Kafka: read by every task host, written behind delivered rows. Never a local file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.api.records import SourcePosition
from connect.kafka.kv_log import KeyValueLog
from connect.kafka.raw import RawBatch
from connect.runtime.offset_records import OffsetTable


class OffsetStore:
    """The offsets topic as a table. Shared by the tasks of a host; the log's reader thread is the only writer of it."""

    def __init__(self, kv_log: KeyValueLog, table: OffsetTable, topic: str) -> None:
        self._log = kv_log
        self._table = table
        self._topic = topic

    def read_to_end(self, deadline: Deadline) -> None:
        """See everything committed before this call."""
        self._log.read_to_end(deadline)

    def get(self, connector: str, partition: Mapping[str, object]) -> dict[str, object] | None:
        """The stored offset of a source partition."""
        return self._table.get(connector, partition)

    def key(self, connector: str, position: SourcePosition) -> bytes:
        """The record key of a position: the bytes already stored, else new ones."""
        return self._table.key(connector, position.partition)

    def store(self, connector: str, positions: Sequence[SourcePosition], deadline: Deadline) -> None:
        """Write positions and wait until Kafka has them. RetriableError when the deadline passes first."""
        futures = [self._log.put(*self._table.record(connector, position)) for position in positions]
        done = wait(futures, timeout=deadline.remaining_s)
        for future in done.done:
            future.result()
        if done.not_done:
            raise RetriableError(f"{len(done.not_done)} of {len(futures)} offsets were not acknowledged in time.")

    def batch(self, connector: str, positions: Sequence[SourcePosition]) -> RawBatch:
        """The records of positions, for a transaction of the task's own producer."""
        import pyarrow as pa

        records = [self._table.record(connector, position) for position in positions]
        keys = pa.array([key for key, _ in records], pa.binary())
        return RawBatch(topic=self._topic, keys=keys, values=pa.array([value for _, value in records], pa.binary()))
