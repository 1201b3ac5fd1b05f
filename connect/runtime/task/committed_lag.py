"""How far a sink is behind, in rows and in seconds: what is in Kafka and not committed. No I/O, no clock.

Rows that the sink has taken and not made durable count: a crash would read them again.
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
    """A batch that the sink has taken. `oldest_ms`: the least time that a row of it carries, in epoch milliseconds."""

    next_offset: int
    rows: int
    size_bytes: int
    oldest_ms: int | None


class Settled(NamedTuple):
    """Names rows that a commit has settled, and the time of the oldest of them in epoch milliseconds."""

    rows: int
    oldest_ms: int


class _Seen(NamedTuple):
    """The end of a partition that was seen while rows before it were not taken yet. `at_s`: in epoch seconds."""

    end: int
    at_s: float


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
        self._seen: dict[TopicPartition, _Seen] = {}
        self._read_to: dict[TopicPartition, int] = {}
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
        """Take note that these next offsets are committed; return the batches of which that is news."""
        settled = []
        for partition, next_offset in offsets.items():
            known = self._partitions.setdefault(partition, _Partition(next_offset))
            known.next_offset = next_offset
            while known.taken and known.taken[0].next_offset <= next_offset:
                batch = self._forget(known)
                if batch.oldest_ms is not None:
                    settled.append(Settled(batch.rows, batch.oldest_ms))
        return settled

    def lost(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, which are another task's now."""
        for partition in partitions:
            self._seen.pop(partition, None)
            self._read_to.pop(partition, None)
            known = self._partitions.pop(partition, None)
            while known is not None and known.taken:
                self._forget(known)

    def rows(self, ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int]) -> int:
        """Return the number of offsets between the last commit and the end of each partition, or between an end before
        which everything was taken and committed, and that of the partition.

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
        """Return the epoch milliseconds of the oldest row that is taken and not committed; None without any."""
        times = (batch.oldest_ms for known in self._partitions.values() for batch in known.taken)
        return min((time for time in times if time is not None), default=None)

    def untaken_since_s(
        self, ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int], now_s: float
    ) -> float | None:
        """Return when the first of the rows was seen that the sink has not taken yet, as far as was asked; None: there
        are none.

        Rows that came meanwhile count from when the sink has taken all that were seen before them: `now_s`, then.
        """
        for partition, end in ends.items():
            known = self._partitions.get(partition)
            taken = known.taken[-1].next_offset if known and known.taken else self._start(partition, positions)
            seen = self._seen.get(partition)
            if taken is None or max(taken, self._read_to.get(partition, 0)) >= end:
                self._seen.pop(partition, None)
            elif seen is None or taken >= seen.end:
                self._seen[partition] = _Seen(end, now_s)
        return min((seen.at_s for seen in self._seen.values()), default=None)

    def all_taken(self, ends: Mapping[TopicPartition, int]) -> None:
        """Take note that the sink has taken all rows before these ends: later ones count from when they are seen."""
        self._read_to |= ends

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
