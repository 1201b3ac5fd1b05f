"""Computes how far a sink is behind, in rows and in seconds. No I/O, no clock.

All rows that are in Kafka and not committed count, also those that the sink has taken, as they would be read again
after a crash. Rows that Kafka deleted before they were read do not count: they are missed, and wait for nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow.compute as pc

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch


class _Taken(NamedTuple):
    """Holds a batch that the sink has taken. `oldest_ms` is the earliest time that one of its rows carries."""

    next_offset: int
    rows: int
    size_bytes: int
    oldest_ms: int | None


class Settled(NamedTuple):
    """Counts rows that a commit has settled, with the time of the oldest of them in epoch milliseconds."""

    rows: int
    oldest_ms: int


class _Seen(NamedTuple):
    """Holds an end of a partition, and when it was seen before all its rows were taken, in epoch seconds."""

    end: int
    at_s: float


@dataclass(slots=True)
class _Partition:
    next_offset: int
    """Is the offset behind the last committed row, or that of the first row if this task has committed none."""
    taken: deque[_Taken] = field(default_factory=deque)
    """Holds the batches that are taken and not committed."""


def _shared(offsets: range, start: int, end: int) -> int:
    """Return how many of these offsets are in the span from `start` to `end`, which is excluded."""
    return max(0, min(offsets.stop, end) - max(offsets.start, start))


class CommittedLag:
    """Keeps what the sink has taken and not committed. Owned by the task's thread."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._seen: dict[TopicPartition, _Seen] = {}
        self._read_to: dict[TopicPartition, int] = {}
        self._passed: dict[TopicPartition, list[range]] = {}
        self._never_read: Mapping[TopicPartition, range] = {}
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
        # Producers give times of their own: the first row need not be the oldest.
        oldest_ms = None if raw.timestamps_ms is None else pc.min(raw.timestamps_ms).as_py()
        batch = _Taken(raw.next_offset, len(raw), raw.size_bytes, oldest_ms)
        known.taken.append(batch)
        self.active_rows += batch.rows
        self.active_bytes += batch.size_bytes

    def committed(self, offsets: Mapping[TopicPartition, int]) -> list[Settled]:
        """Take note that these next offsets are committed. Return the batches that were not committed before."""
        settled = []
        for partition, next_offset in offsets.items():
            known = self._partitions.setdefault(partition, _Partition(next_offset))
            known.next_offset = next_offset
            while known.taken and known.taken[0].next_offset <= next_offset:
                batch = self._forget(known)
                if batch.oldest_ms is not None:
                    settled.append(Settled(batch.rows, batch.oldest_ms))
            if partition in self._passed:
                self._passed[partition] = [gap for gap in self._passed[partition] if gap.stop > next_offset]
        return settled

    def lost(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, as they belong to another task now."""
        for partition in partitions:
            self._seen.pop(partition, None)
            self._read_to.pop(partition, None)
            self._passed.pop(partition, None)
            known = self._partitions.pop(partition, None)
            while known is not None and known.taken:
                self._forget(known)

    def rows(self, ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int]) -> int:
        """Return the number of offsets between the last commit and the end of each partition.

        It counts from a later end, if everything before that end was taken and committed. `ends` and `positions` are
        next offsets. A partition of which nothing was read yet counts from its position; one whose end or start is
        not known is left out. Compaction and transactions leave gaps, so there may be fewer rows.
        """
        starts = {tp: start for tp in ends if (start := self._start(tp, positions)) is not None}
        return sum(self._kept(tp, start, ends[tp]) for tp, start in starts.items())

    def uncommitted(self) -> Mapping[TopicPartition, int]:
        """Return by partition how many offsets the sink has taken that are not committed."""
        return {
            tp: self._kept(tp, known.next_offset, known.taken[-1].next_offset)
            for tp, known in self._partitions.items()
            if known.taken
        }

    def oldest_ms(self) -> int | None:
        """Return the time in epoch milliseconds of the oldest row that is taken and not committed, or None."""
        times = (batch.oldest_ms for known in self._partitions.values() for batch in known.taken)
        return min((time for time in times if time is not None), default=None)

    def untaken_since_s(
        self, ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int], now_s: float
    ) -> float | None:
        """Return when the oldest row that the sink has not taken yet was first seen; None if it has taken all rows.

        `now_s` and the returned time are epoch seconds. A row that came after the last call counts from the time at
        which the sink had taken all rows seen before it.
        """
        for partition, end in ends.items():
            known = self._partitions.get(partition)
            taken = known.taken[-1].next_offset if known and known.taken else self._start(partition, positions)
            seen = self._seen.get(partition)
            if taken is None or not self._kept(partition, max(taken, self._read_to.get(partition, 0)), end):
                self._seen.pop(partition, None)
            elif seen is None or taken >= seen.end:
                self._seen[partition] = _Seen(end, now_s)
        return min((seen.at_s for seen in self._seen.values()), default=None)

    def all_taken(self, ends: Mapping[TopicPartition, int]) -> None:
        """Take note that the sink has taken all rows before these ends. Later rows count from when they are seen."""
        self._read_to |= ends

    def passed(self, partition: TopicPartition, offsets: range) -> None:
        """Take note that the task reads on behind these offsets, whose rows it never reads."""
        self._passed.setdefault(partition, []).append(offsets)

    def never_read(self, deleted: Mapping[TopicPartition, range]) -> None:
        """Take note of the offsets whose rows are now known to be deleted before they were read."""
        self._never_read = deleted

    def _kept(self, partition: TopicPartition, start: int, end: int) -> int:
        """Return the number of offsets in a span without those that are never read."""
        gaps = [*self._passed.get(partition, ()), self._never_read.get(partition, range(0))]
        return max(0, end - start - sum(_shared(gap, start, end) for gap in gaps))

    def _forget(self, known: _Partition) -> _Taken:
        batch = known.taken.popleft()
        self.active_rows -= batch.rows
        self.active_bytes -= batch.size_bytes
        return batch

    def _start(self, partition: TopicPartition, positions: Mapping[TopicPartition, int]) -> int | None:
        known = self._partitions.get(partition)
        if known is None:
            return positions.get(partition)
        return known.next_offset if known.taken else max(known.next_offset, self._read_to.get(partition, 0))
