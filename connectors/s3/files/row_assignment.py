"""Gives polled rows to the open files of a topic partition, and encodes the files that end. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from connect.api.records import TopicPartition
from connectors.s3.files.ended_files import EndedFile, EndedFiles
from connectors.s3.files.intake import Admitted, joined_rows
from connectors.s3.files.known_objects import KnownObjects
from connectors.s3.files.open_files import OpenFile, OpenFiles
from connectors.s3.files.rotation import Rotation
from connectors.s3.files.spool import Spool, SpooledRows
from connectors.s3.formats.file_format import Format

_ENDED_SHARE: Final = 8
"""If fewer than one in this many files have ended, they are encoded later, as many together cost less per file."""


class RowAssignment:
    """Puts rows into the spools of their files, topic by topic. The task thread owns it.

    `rows_already_there` is the number of rows that were left out because objects have them. `taken_end` is the offset
    behind the last row that was taken, or None if none was.
    """

    def __init__(
        self, partition: TopicPartition, rotation: Rotation, file_format: Format, topic_id: str | None
    ) -> None:
        self.open = OpenFiles(partition)
        self.reaches = KnownObjects()
        self.ended = EndedFiles(self.open, self.reaches)
        self.rows_already_there = 0
        self.taken_end: int | None = None
        self._partition = partition
        self._topic_id = topic_id
        self._rotation = rotation
        self._format = file_format
        self._spools: dict[str, Spool] = {}
        self._group: list[Admitted] = []
        self._at_ms = 0

    @property
    def size_bytes(self) -> int:
        """Return the bytes of files that are not completely encoded."""
        return sum(spool.size_bytes for spool in self._spools.values())

    def take(self, polls: Sequence[Sequence[Admitted]], at_ms: int) -> None:
        """Give the rows of whole polls to their files; files end as the rules say."""
        self._at_ms = at_ms
        for parts in polls:
            is_consecutive = _are_consecutive(parts)
            for part in parts:
                self._take(part, is_consecutive=is_consecutive)
        self._assign_group()
        self._rotation.settle(self.open)
        self.open.forget_ends()
        if self.open.position is not None:
            self.reaches.forget(lambda p: p in self.open.by_place or p in self.ended, self.open.position)
        many_ended = len(self.open.ended) * _ENDED_SHARE >= len(self.open)
        if (self.open.ended and many_ended) or any(spool.is_due for spool in self._spools.values()):
            self.encode()

    def end(self, files: Sequence[OpenFile]) -> None:
        """End these files, and those that end together with them."""
        if files:
            self._rotation.end(files, self.open)

    def largest(self, most_bytes: int) -> list[OpenFile]:
        """Return the largest open files: as many as have `most_bytes` bytes together."""
        numbers = {number for spool in self._spools.values() for number in spool.largest(most_bytes)}
        return [file for file in self.open.by_place.values() if file.number in numbers]

    def encode(self) -> None:
        """Encode the rows of files that have ended, so that they can become objects."""
        lacking = self.ended.lacking()
        self.end([file for place, file in self.open.by_place.items() if place in lacking])
        for spool in self._spools.values():
            spool.sort()
        ended, self.open.ended = self.open.ended, []
        numbers = {file.number for file in ended}
        for spool in self._spools.values():
            spool.expect_end(numbers)
        for file in ended:
            self.ended.append(self._encoded(file))

    def _encoded(self, file: OpenFile) -> EndedFile:
        written = self._spools[file.place.topic].end(file.number)
        offsets, times = written.offsets.tolist(), written.timestamps_ms.tolist()
        return EndedFile(self._partition, file.place, offsets, times, offsets[-1] + 1, written.body, self._topic_id)

    def _take(self, part: Admitted, *, is_consecutive: bool) -> None:
        """Give the rows of a part that are in no object yet to files. Its other rows do not count, also for schemas."""
        for piece in self._pieces(part):
            new = self._not_in_objects(piece)
            if new is not None:
                self._end_before_runs(new)
                self._take_by_schema(new, is_consecutive=is_consecutive)

    def _pieces(self, part: Admitted) -> Iterator[Admitted]:
        """Yield a part, cut at offsets at which files have to end as objects hold the rows that follow."""
        cuts = self.reaches.cuts(part)
        if not cuts:
            yield part
            return
        rows = np.arange(part.facts.length)
        for piece in np.split(rows, np.searchsorted(part.consumed.offsets.to_numpy(), cuts)):
            yield part.picked(piece)

    def _end_before_runs(self, part: Admitted) -> None:
        """End files that would hold rows before and behind a run of rows that are in objects."""
        if not self.reaches.has_gaps:
            return
        self._assign_group()
        offset = part.consumed.offsets[0].as_py()
        files = [file for file in self.open.by_place.values() if file.place.topic == part.topic]
        self.end([file for file in files if self.reaches.is_apart(file.place, file.first_offset, offset)])

    def _take_by_schema(self, part: Admitted, *, is_consecutive: bool) -> None:
        spool = self._spools.setdefault(part.topic, Spool())
        if self._group and not (is_consecutive and self._goes_with_group(part, spool)):
            self._assign_group()
        if self.open.ended and not spool.holds(part.prepared):
            # Files that have ended are encoded first, so that later rows do not change their schema.
            self.encode()
        if not spool.widen(part.prepared):
            if part.prepared.is_inferred and part.facts.length > 1:
                # The part is halved until it has one row, so that files end just before the row that does not fit.
                for half in part.halves():
                    self._take_by_schema(half, is_consecutive=is_consecutive)
                return
            self.end([file for place, file in self.open.by_place.items() if place.topic == part.topic])
            self.encode()
            spool.begin(part.prepared)
        self._group.append(part)
        if not is_consecutive:
            self._assign_group(is_consecutive=False)

    def _goes_with_group(self, part: Admitted, spool: Spool) -> bool:
        """Return True if a part is assigned together with those before it, as it has the same topic and schema."""
        return self._group[0].topic == part.topic and spool.holds(part.prepared)

    def _assign_group(self, *, is_consecutive: bool = True) -> None:
        group, self._group = self._group, []
        if not group:
            return
        spool, whole = self._spools[group[0].topic], joined_rows(group)
        numbers = self._rotation.assign(whole, self.open, self._at_ms, is_consecutive=is_consecutive)
        for file in self.open.take_begun():
            spool.open(file.number, self._format.encoder())
        at = 0
        for part in group:
            offsets, times = part.consumed.offsets.to_numpy(), part.timestamps_ms.to_numpy()
            spool.add(SpooledRows(part.prepared.rows, offsets, times), numbers[at : at + part.facts.length])
            at += part.facts.length

    def _not_in_objects(self, part: Admitted) -> Admitted | None:
        """Return the rows of a part that are in no object, or None if there are none."""
        end = part.consumed.offsets[-1].as_py() + 1
        self.taken_end = end if self.taken_end is None else max(self.taken_end, end)
        kept = self.reaches.rows_beyond(part)
        if kept is None:
            return part
        self.rows_already_there += part.facts.length - len(kept)
        return part.picked(kept) if len(kept) else None


def _are_consecutive(parts: Sequence[Admitted]) -> bool:
    return all(
        before.consumed.offsets[-1].as_py() <= after.consumed.offsets[0].as_py() for before, after in pairwise(parts)
    )
