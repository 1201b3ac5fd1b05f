"""A file that has ended and waits to become an object. No I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from connect.api.records import TopicPartition
from connectors.s3.formats import Body
from connectors.s3.intake import NO_TIME
from connectors.s3.layout import Extent, Place


@dataclass(frozen=True, slots=True)
class EndedFile:
    """A file to be created: encoded rows, and their offsets in the log (ascending, at least one) and times."""

    partition: TopicPartition
    place: Place
    offsets: Sequence[int]
    timestamps_ms: Sequence[int]
    end_offset: int
    body: Body
    topic_id: str | None = None

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
        times = self.timestamps_ms[gone:]
        return replace(self, offsets=self.offsets[gone:], timestamps_ms=times, body=self.body.without_first(gone))
