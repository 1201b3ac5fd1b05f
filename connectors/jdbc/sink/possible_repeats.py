"""Tells which rows of a partition an earlier try may have written already, whose offsets were not committed. Pure.

A task that died, or whose commit got no answer, has written rows of a partition in their order. So these rows are the
first ones that are read again. They end with the first read that writes rows of which none was in the table before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from connect.api.records import TopicPartition


@dataclass(slots=True)
class _Read:
    """Counts the rows of one read of a partition, which may come as several batches."""

    next_offset: int
    written: int = 0
    were_there: int = 0

    @property
    def is_new(self) -> bool:
        return self.written > 0 and self.were_there == 0


class FirstReads:
    """Keeps the reads of each partition until it is known that further rows are new. Owned by the task thread."""

    def __init__(self) -> None:
        self._reads: dict[TopicPartition, _Read] = {}
        self._known: set[TopicPartition] = set()

    def may_be_there(self, place: TopicPartition, next_offset: int) -> bool:
        """Return True if an earlier try may have written rows of a read that ends before `next_offset`."""
        read = self._reads.get(place)
        if read is not None and next_offset > read.next_offset and read.is_new:
            self._known.add(place)
        return place not in self._known

    def wrote(self, place: TopicPartition, next_offset: int, rows: int, were_there: int) -> None:
        """Note a batch of the read: `rows` of its rows are in the table now, of which `were_there` were there
        before.
        """
        read = self._reads.get(place)
        if read is None or next_offset > read.next_offset:
            read = self._reads[place] = _Read(next_offset)
        read.written += rows - were_there
        read.were_there += were_there

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Begin anew with these partitions, as other tasks may have written rows of them."""
        for place in partitions:
            self._reads.pop(place, None)
            self._known.discard(place)


class AllReads(FirstReads):
    """Takes rows of each read for such that may be written: those of several tables are not written in their order."""

    def may_be_there(self, place: TopicPartition, next_offset: int) -> bool:
        """Return True."""
        del place, next_offset
        return True
