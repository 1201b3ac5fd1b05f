"""Holds files that have ended and wait to become objects. No I/O, no clock."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connect.api.records import TopicPartition
from connectors.s3.files.intake import NO_TIME
from connectors.s3.files.known_objects import KnownObjects
from connectors.s3.files.open_files import OpenFiles
from connectors.s3.paths.layout import Extent, Place


@dataclass(frozen=True, slots=True)
class EndedFile:
    """Holds a file that is to become objects: encoded rows, their offsets in the log (ascending) and times.

    It has at least one row. If another writer has created a part of the file's objects, the file must end at
    `agreed_end`, or None if no other writer has. `begin_offset` is that of its extent, which is known once the file's
    objects may be created.
    """

    partition: TopicPartition
    place: Place
    offsets: Sequence[int]
    timestamps_ms: Sequence[int]
    end_offset: int
    body: Any
    topic_id: str | None = None
    agreed_end: int | None = None
    begin_offset: int | None = None

    @property
    def lacks_rows(self) -> bool:
        """Return True if the file must end at `agreed_end` and does not have all rows up to there yet."""
        return self.agreed_end is not None and self.agreed_end > self.end_offset

    @property
    def extent(self) -> Extent:
        """Return the extent that the metadata of its objects will tell."""
        start_ms = None if self.timestamps_ms[0] == NO_TIME else self.timestamps_ms[0]
        first, last = self.offsets[0], self.offsets[-1]
        rows, begin = len(self.offsets), self.begin_offset
        return Extent(self.partition, first, last, self.end_offset, rows, start_ms, self.topic_id, begin)

    def rows_before(self, offset: int) -> int:
        """Return how many rows of the file have offsets below this one."""
        return bisect_left(self.offsets, offset)

    def behind(self, offset: int) -> EndedFile | None:
        """Return a file with the rows from `offset` on, or None if there are none."""
        gone = self.rows_before(offset)
        if gone == 0:
            return self
        if gone == len(self.offsets):
            return None
        times, rest = self.timestamps_ms[gone:], self.body.without_first(gone)
        return replace(self, offsets=self.offsets[gone:], timestamps_ms=times, body=rest, agreed_end=None)

    def until(self, offset: int) -> EndedFile:
        """Return a file with the rows before `offset`, which ends there. There must be some."""
        count = self.rows_before(offset)
        body = self.body if count == len(self.offsets) else self.body.first(count)
        own = replace(self, offsets=self.offsets[:count], timestamps_ms=self.timestamps_ms[:count], body=body)
        return replace(own, end_offset=offset)

    def joined(self, other: EndedFile) -> EndedFile:
        """Return one file with the rows of this file and of the next one of its place."""
        offsets, times = [*self.offsets, *other.offsets], [*self.timestamps_ms, *other.timestamps_ms]
        body = self.body.joined(other.body)
        return replace(self, offsets=offsets, timestamps_ms=times, end_offset=other.end_offset, body=body)


class EndedFiles:
    """Holds the ended files of one topic partition, by place and offset. It is owned by the task thread.

    The files of a place become objects one after the other. Rows that objects of the place have by then are left out.
    """

    def __init__(self, open_files: OpenFiles, reaches: KnownObjects) -> None:
        """Start without ended files. `open_files` and `reaches` are those of the same topic partition."""
        self._open = open_files
        self._reaches = reaches
        self._files: dict[Place, deque[EndedFile]] = {}
        self._agreed: set[Place] = set()

    @property
    def size_bytes(self) -> int:
        """Return the encoded bytes of all ended files."""
        return sum(int(file.body.size_bytes) for files in self._files.values() for file in files)

    def __contains__(self, place: Place) -> bool:
        return place in self._files

    def append(self, file: EndedFile) -> None:
        """Add a file behind those of its place."""
        self._files.setdefault(file.place, deque()).append(file)

    def ready(self, busy: Container[Place]) -> Iterator[EndedFile]:
        """Yield the files whose objects may be created now: the first one of each place that is not in `busy`.

        It is at most one for a place, as the next file starts where the object of this one ends in the bucket.
        """
        for place in list(self._files):
            head = None if place in busy else self._head(place)
            if head is not None and not head.lacks_rows:
                yield replace(head, begin_offset=self._reaches.begin_of(place))

    def least_offset(self) -> int | None:
        """Return the offset of the first row that is in no object yet, or None if there is none."""
        heads = (self._head(place) for place in list(self._files))
        return min((head.offsets[0] for head in heads if head is not None), default=None)

    def agree(self, file: EndedFile, end_offset: int) -> None:
        """Have the first file of a place end at this offset.

        Another writer has created the first of the file's several objects, so the others must hold the same rows.
        """
        files = self._files[file.place]
        self._agreed.add(file.place)
        rest = file.behind(end_offset) if end_offset < file.end_offset else None
        own = file if rest is None else file.until(end_offset)
        files[0] = replace(own, agreed_end=end_offset)
        if rest is not None:
            files.insert(1, rest)

    def lacking(self) -> set[Place]:
        """Return the places whose first file needs rows up to its agreed end that are in no ended file yet."""
        heads = {place: self._head(place) for place in self._agreed if place in self._files}
        self._agreed = {place for place, head in heads.items() if head is not None and head.lacks_rows}
        return self._agreed

    def _head(self, place: Place) -> EndedFile | None:
        """Return the first file of a place that has rows which are in no object, or None if there is none."""
        files = self._files[place]
        while files:
            rest = files[0].behind(self._reaches.of(place))
            if rest is not None:
                files[0] = rest
                if rest.lacks_rows:
                    self._complete(files)
                return files[0]
            files.popleft()
        del self._files[place]
        return None

    def _complete(self, files: deque[EndedFile]) -> None:
        """Move rows up to the agreed end from the next ended files into the first file of a place."""
        head, end = files[0], files[0].agreed_end
        assert end is not None
        while head.lacks_rows and len(files) > 1 and files[1].offsets[0] < end:
            head = head.joined(files[1])
            del files[1]
        position = self._open.position
        is_read = len(files) > 1 or (position is not None and position >= end)
        files[0] = head
        if head.end_offset > end:
            self.agree(head, end)
        elif is_read and not self._open.may_hold(head.place, end):
            # All offsets up to the end were read. Kafka's compaction may have removed the last rows.
            files[0] = replace(head, end_offset=end)
