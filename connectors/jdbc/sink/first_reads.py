"""Tell which rows may be in their table by an earlier try whose offsets were not committed: those read first. Pure.

A task that died, or whose commit nobody answered, has written rows of a partition in their order. So they are at the
beginning of what is read again, up to the first read of which rows are written and none was there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from connect.api.records import TopicPartition


@dataclass(slots=True)
class _Read:
    """What one read of a partition, which may come as several batches, gave."""

    next_offset: int
    written: int = 0
    were_there: int = 0

    @property
    def is_new(self) -> bool:
        return self.written > 0 and self.were_there == 0


class FirstReads:
    """The reads of each partition while it is not known that their rows are new. Owned by the task thread."""

    def __init__(self) -> None:
        self._reads: dict[TopicPartition, _Read] = {}
        self._known: set[TopicPartition] = set()

    def may_be_there(self, place: TopicPartition, next_offset: int) -> bool:
        """Tell if rows of a read that ends before `next_offset` may be there by an earlier try."""
        read = self._reads.get(place)
        if read is not None and next_offset > read.next_offset and read.is_new:
            self._known.add(place)
        return place not in self._known

    def wrote(self, place: TopicPartition, next_offset: int, rows: int, were_there: int) -> None:
        """Note a batch of the read: so many rows are in the table, of which so many had been there."""
        read = self._reads.get(place)
        if read is None or next_offset > read.next_offset:
            read = self._reads[place] = _Read(next_offset)
        read.written += rows - were_there
        read.were_there += were_there

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Begin anew: others may have written of them."""
        for place in partitions:
            self._reads.pop(place, None)
            self._known.discard(place)
