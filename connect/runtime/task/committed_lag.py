"""How far a sink is behind, in rows and in seconds: what is in Kafka and not committed. No I/O, no clock.

Rows that the sink has taken and not made durable count: a crash would read them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch


class _Taken(NamedTuple):
    """A batch that the sink has taken. `first_ms`: the first row's time in epoch milliseconds."""

    next_offset: int
    rows: int
    size_bytes: int
    first_ms: int | None


class Settled(NamedTuple):
    """Names rows that a commit has settled, and the time of the first of them in epoch milliseconds."""

    rows: int
    first_ms: int


@dataclass(slots=True)
class _Partition:
    next_offset: int
    """Behind the last row that was committed, as far as this task knows; before that, its first row."""
    taken: deque[_Taken] = field(default_factory=deque)
    """Batches that are not committed."""


class CommittedLag:
    """Keeps what the sink has taken and not committed. Owned by the task's thread."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Partition] = {}
        self.active_rows = 0
        """It is the number of rows that are taken and not committed."""
        self.active_bytes = 0
        """It is the size of these rows."""

    def took(self, partition: TopicPartition, raw: RawBatch) -> None:
        """Take note that the sink has taken a batch that was read from this partition."""
        assert raw.offsets is not None
        assert raw.next_offset is not None
        known = self._partitions.get(partition)
        if known is None:
            known = self._partitions[partition] = _Partition(raw.offsets[0].as_py() if len(raw) else raw.next_offset)
        first_ms = raw.timestamps_ms[0].as_py() if raw.timestamps_ms is not None and len(raw) else None
        batch = _Taken(raw.next_offset, len(raw), raw.size_bytes, first_ms)
        known.taken.append(batch)
        self.active_rows += batch.rows
        self.active_bytes += batch.size_bytes

    def committed(self, offsets: Mapping[TopicPartition, int]) -> list[Settled]:
        """Take note that these next offsets are committed; return the batches of which that is news."""
        settled = []
        for partition, next_offset in offsets.items():
            known = self._partitions.setdefault(partition, _Partition(next_offset))
            known.next_offset = next_offset
            while known.taken and known.taken[0].next_offset <= next_offset:
                batch = self._forget(known)
                if batch.first_ms is not None:
                    settled.append(Settled(batch.rows, batch.first_ms))
        return settled

    def lost(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, which are another task's now."""
        for partition in partitions:
            known = self._partitions.pop(partition, None)
            while known is not None and known.taken:
                self._forget(known)

    def rows(self, ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int]) -> int:
        """Return the number of offsets between the last commit and the end of each partition.

        `ends` and `positions` are next offsets. A partition of which nothing was read yet counts from its position; one
        whose end or start is not known is left out. Compaction and transactions leave gaps, so there may be fewer rows.
        """
        return sum(max(0, end - start) for tp, end in ends.items() if (start := self._start(tp, positions)) is not None)

    def uncommitted(self) -> Mapping[TopicPartition, int]:
        """Return offsets that the sink has taken and that are not committed, by partition."""
        return {
            tp: known.taken[-1].next_offset - known.next_offset for tp, known in self._partitions.items() if known.taken
        }

    def oldest_ms(self) -> int | None:
        """Return the time of the oldest row that is taken and not committed, in epoch milliseconds; None: there is
        none.
        """
        times = [known.taken[0].first_ms for known in self._partitions.values() if known.taken]
        return min((time for time in times if time is not None), default=None)

    def _forget(self, known: _Partition) -> _Taken:
        batch = known.taken.popleft()
        self.active_rows -= batch.rows
        self.active_bytes -= batch.size_bytes
        return batch

    def _start(self, partition: TopicPartition, positions: Mapping[TopicPartition, int]) -> int | None:
        known = self._partitions.get(partition)
        return positions.get(partition) if known is None else known.next_offset
