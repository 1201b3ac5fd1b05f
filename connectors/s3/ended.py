"""A file that has ended and waits to become an object. No I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from connect.api.records import TopicPartition
from connectors.s3.intake import NO_TIME
from connectors.s3.layout import Extent, Place


@dataclass(frozen=True, slots=True)
class EndedFile:
    """A file to be created: encoded rows, and their offsets in the log (ascending, at least one) and times.

    `agreed_end`: where it must end, as another writer has created a part of it; None: nothing is agreed.
    """

    partition: TopicPartition
    place: Place
    offsets: Sequence[int]
    timestamps_ms: Sequence[int]
    end_offset: int
    body: Any
    topic_id: str | None = None
    agreed_end: int | None = None

    @property
    def lacks_rows(self) -> bool:
        """It must hold rows that are not in it yet."""
        return self.agreed_end is not None and self.agreed_end > self.end_offset

    @property
    def extent(self) -> Extent:
        """What its object will say about itself."""
        start_ms = None if self.timestamps_ms[0] == NO_TIME else self.timestamps_ms[0]
        first, last = self.offsets[0], self.offsets[-1]
        return Extent(self.partition, first, last, self.end_offset, len(self.offsets), start_ms, self.topic_id)

    def rows_before(self, offset: int) -> int:
        """How many rows have lower offsets."""
        return bisect_left(self.offsets, offset)

    def behind(self, offset: int) -> EndedFile | None:
        """The rows at `offset` and behind it; None when there are none."""
        gone = self.rows_before(offset)
        if gone == 0:
            return self
        if gone == len(self.offsets):
            return None
        times, rest = self.timestamps_ms[gone:], self.body.without_first(gone)
        return replace(self, offsets=self.offsets[gone:], timestamps_ms=times, body=rest, agreed_end=None)

    def until(self, offset: int) -> EndedFile:
        """The rows before `offset`, of which there are some, in a file that ends there."""
        count = self.rows_before(offset)
        body = self.body if count == len(self.offsets) else self.body.first(count)
        own = replace(self, offsets=self.offsets[:count], timestamps_ms=self.timestamps_ms[:count], body=body)
        return replace(own, end_offset=offset)

    def joined(self, other: EndedFile) -> EndedFile:
        """The rows of this file and of the next one of its place."""
        offsets, times = [*self.offsets, *other.offsets], [*self.timestamps_ms, *other.timestamps_ms]
        body = self.body.joined(other.body)
        return replace(self, offsets=offsets, timestamps_ms=times, end_offset=other.end_offset, body=body)
