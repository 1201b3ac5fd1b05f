"""The files of one topic partition: which rows are buffered, ended, in the bucket, and so how far offsets may move.

No I/O and no clock, owned by the task thread. Never calls rows durable before an object that holds them is known.

The objects of a place are a chain: each starts at the first row of the place at or behind the end of the one before.
Whoever reads on from an offset and knows how far each chain reaches meets the same keys in the same order; an object
that is already there tells how far it reaches, and the rows behind it become the next link. That holds whatever made a
file end: records, the clock, memory, or another life of the task.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.s3.ended import EndedFile
from connectors.s3.formats import Format
from connectors.s3.intake import Admitted, joined_rows
from connectors.s3.layout import Extent, Place
from connectors.s3.open_files import OpenFile, OpenFiles
from connectors.s3.rotation import Rotation
from connectors.s3.schedule import Schedule
from connectors.s3.spool import Rows, Spool

_ENDED_SHARE: Final = 8
"""Files are encoded at once where one in so many has ended; where there are more, many of them together cost less."""
_HELD_ROWS_PER_FILE: Final = 16
_HELD_BYTES: Final = 8 * 2**20
"""Polls are held together until they have so many rows for each open file, or so many bytes."""
_REACHES_MAX: Final = 20_000
"""Of paths with neither open nor waiting files, this many are remembered by how far their objects reach."""


class PartitionFiles:
    """The buffer of one topic partition."""

    def __init__(
        self, partition: TopicPartition, rotation: Rotation, file_format: Format, topic_id: str | None = None
    ) -> None:
        self.partition = partition
        self.rows_already_there = 0
        self._rotation = rotation
        self._format = file_format
        self.topic_id = topic_id
        self._poll: list[Admitted] = []
        self._polled_ms = 0
        self._held: list[Sequence[Admitted]] = []
        self._held_rows = 0
        self._held_bytes = 0
        self._group: list[Admitted] = []
        self._worked_ms = 0
        self._next_due_ms = math.inf
        self._undated_ms: int | None = None
        self._open = OpenFiles(partition)
        self._spools: dict[str, Spool] = {}
        self._ended: dict[Place, deque[EndedFile]] = {}
        self._reach: dict[Place, int] = {}
        self._reach_max = 0
        self._known: dict[str, set[str]] = {}
        self._agreed: set[Place] = set()
        self._began: int | None = None
        self._taken_end: int | None = None
        self._position: int | None = None

    @property
    def open_files(self) -> int:
        """Files that have not ended."""
        return len(self._open)

    @property
    def buffered_bytes(self) -> int:
        """Encoded and waiting bytes, ended files included."""
        ended: int = sum(file.body.size_bytes for files in self._ended.values() for file in files)
        return ended + self.open_bytes

    @property
    def open_bytes(self) -> int:
        """Bytes of what is not encoded to its end."""
        return self._held_bytes + sum(spool.size_bytes for spool in self._spools.values())

    def unknown_places(self, parts: Sequence[Admitted]) -> set[Place]:
        """Where these rows go, as far as it was not told yet how far the objects there reach."""
        return {
            Place(part.topic, name)
            for part in parts
            for name in set(part.facts.names).difference(self._known.get(part.topic, ()))
        }

    def learn(self, place: Place, reach: int) -> None:
        """The objects of a place hold all its rows before this offset."""
        self._reach[place] = max(reach, self._reach.get(place, 0))
        self._reach_max = max(self._reach_max, reach)
        self._known.setdefault(place.topic, set()).add(place.path)

    def take(self, admitted: Admitted, now_ms: int) -> None:
        """Buffer rows; files end where the rules say.

        Transforms can split what was polled at once into batches that share `next_offset` and whose offsets
        interleave; only when the last of them is here may a file end. So a poll waits for the next one, `end_poll` or
        `settle`.
        """
        if self._poll and self._poll[0].consumed.next_offset != admitted.consumed.next_offset:
            self.end_poll()
        self._poll.append(admitted)
        self._polled_ms = now_ms

    def end_poll(self) -> None:
        """All of what was polled last is here. Where it has few rows for each open file, some polls are held together:
        what is done once per file and poll would cost more than all else."""
        poll, self._poll = self._poll, []
        if not poll:
            return
        self._position = poll[0].consumed.next_offset
        parts = sorted((a for a in poll if a.facts.length), key=lambda a: a.consumed.offsets[0].as_py())
        self._check_order(parts)
        if parts and self._began is None:
            self._began = parts[0].consumed.offsets[0].as_py()
        self._undated_ms = self._polled_ms if self._undated_ms is None else self._undated_ms
        self._worked_ms = self._polled_ms
        self._held.append(parts)
        self._held_rows += sum(part.facts.length for part in parts)
        self._held_bytes += sum(part.prepared.rows.nbytes for part in parts)
        holds = not self._rotation.ends_by_poll and self._held_rows < _HELD_ROWS_PER_FILE * len(self._open)
        if not holds or self._held_bytes >= _HELD_BYTES:
            self._work()

    def settle(self) -> None:
        """Work on all that was polled. Call it before `encode`, `end_largest` and `durable_offset`."""
        self.end_poll()
        self._work()

    def _work(self) -> None:
        """Give the rows that are held to their files."""
        held, self._held, self._held_rows, self._held_bytes = self._held, [], 0, 0
        if not held:
            return
        for parts in held:
            is_consecutive = _are_consecutive(parts)
            for part in parts:
                self._take_by_schema(part, is_consecutive=is_consecutive)
        self._assign_group()
        self._rotation.settle(self._open)
        self._forget_reaches()
        many_ended = len(self._open.ended) * _ENDED_SHARE >= len(self._open)
        if (self._open.ended and many_ended) or any(spool.is_due for spool in self._spools.values()):
            self.encode()

    def end_due(self, schedule: Schedule, now_ms: int) -> None:
        """End the files that the clock ends."""
        if self._undated_ms is not None:
            self._next_due_ms = min(self._next_due_ms, schedule.due_at(self._undated_ms, self._undated_ms))
            self._undated_ms = None
        if now_ms < self._next_due_ms:
            return
        self._work()
        files = self._open.by_place.values()
        self._end([f for f in files if schedule.due_at(f.opened_ms, f.last_row_ms) <= now_ms])
        dues = (schedule.due_at(opened, last) for opened, last in {(f.opened_ms, f.last_row_ms) for f in files})
        self._next_due_ms = min(dues, default=math.inf)

    def end_all(self) -> None:
        """End all files."""
        self._end(list(self._open.by_place.values()))

    def end_largest(self, most_bytes: int) -> None:
        """End the largest files, until they hold so many bytes together, and encode them."""
        numbers = {number for spool in self._spools.values() for number in spool.largest(most_bytes)}
        self._end([file for file in self._open.by_place.values() if file.number in numbers])
        self.encode()

    def encode(self) -> None:
        """Make files that have ended ready to become objects."""
        self._agreed = {
            p for p in self._agreed if p in self._ended and (h := self._head(p)) is not None and h.lacks_rows
        }
        self._end([file for place, file in self._open.by_place.items() if place in self._agreed])
        for spool in self._spools.values():
            spool.sort()
        ended, self._open.ended = self._open.ended, []
        numbers = {file.number for file in ended}
        for spool in self._spools.values():
            spool.expect_end(numbers)
        for file in ended:
            self._ended.setdefault(file.place, deque()).append(self._encoded(file))

    def to_create(self, busy: Container[Place] = ()) -> Iterator[EndedFile]:
        """The files whose objects may be created now, without rows that are in objects; none of a busy place.

        A place has at most one, because where the next one starts depends on what becomes of it.
        """
        for place in list(self._ended):
            head = None if place in busy else self._head(place)
            if head is not None and not head.lacks_rows:
                yield head

    def created(self, file: EndedFile) -> None:
        """The object of a file from `to_create` is in the bucket, and it was this task that made it."""
        self.learn(file.place, file.end_offset)

    def found(self, file: EndedFile, extent: Extent) -> None:
        """The object of a file from `to_create` was there already, and holds this extent."""
        self.rows_already_there += file.rows_before(extent.end_offset)
        self.learn(file.place, extent.end_offset)

    def agree(self, file: EndedFile, end_offset: int) -> None:
        """Another writer has created the first of several objects of a file from `to_create`: all must end there.

        So whoever creates the others creates those of the same rows.
        """
        files = self._ended[file.place]
        self._agreed.add(file.place)
        rest = file.behind(end_offset) if end_offset < file.end_offset else None
        own = file if rest is None else file.until(end_offset)
        files[0] = replace(own, agreed_end=end_offset)
        if rest is not None:
            files.insert(1, rest)

    def durable_offset(self) -> int | None:
        """The next offset that may be committed; None while it is where this life began."""
        heads = [head.offsets[0] for place in list(self._ended) if (head := self._head(place)) is not None]
        opened = self._open.least_offset()
        least = min([*heads, *([] if opened is None else [opened])], default=None)
        durable = self._rotation.durable(least, self._position, max(self._reach.values(), default=0))
        has_moved = durable is not None and (self._began is None or durable > self._began)
        return durable if has_moved else None

    def _head(self, place: Place) -> EndedFile | None:
        files = self._ended[place]
        while files:
            rest = files[0].behind(self._reach.get(place, 0))
            if rest is not None:
                files[0] = rest
                if rest.lacks_rows:
                    self._complete(files)
                return files[0]
            files.popleft()
        del self._ended[place]
        return None

    def _complete(self, files: deque[EndedFile]) -> None:
        """Give the first file of a place the rows up to its agreed end, as far as they are in files that have ended."""
        head, end = files[0], files[0].agreed_end
        assert end is not None
        while head.lacks_rows and len(files) > 1 and files[1].offsets[0] < end:
            head = head.joined(files[1])
            del files[1]
        opened = self._open.by_place.get(head.place)
        is_read = len(files) > 1 or (self._position is not None and self._position >= end)
        is_open = opened is not None and opened.first_offset < end
        waits = is_open or any(file.place == head.place for file in self._open.ended)
        files[0] = head
        if head.end_offset > end:
            self.agree(head, end)
        elif is_read and not waits:
            # Compaction may have taken the last rows.
            files[0] = replace(head, end_offset=end)

    def _end(self, files: Sequence[OpenFile]) -> None:
        if files:
            self._rotation.end(files, self._open)

    def _encoded(self, file: OpenFile) -> EndedFile:
        written = self._spools[file.place.topic].end(file.number)
        offsets, times = written.offsets.tolist(), written.timestamps_ms.tolist()
        return EndedFile(self.partition, file.place, offsets, times, offsets[-1] + 1, written.body, self.topic_id)

    def _take_by_schema(self, part: Admitted, *, is_consecutive: bool) -> None:
        spool = self._spools.setdefault(part.topic, Spool())
        if self._group and not (is_consecutive and self._goes_with_group(part, spool)):
            self._assign_group()
        if not spool.widen(part.prepared):
            if part.prepared.is_inferred and part.facts.length > 1:
                # Files end before the very row that does not fit, wherever its batch began.
                for half in part.halves():
                    self._take_by_schema(half, is_consecutive=is_consecutive)
                return
            self._end([file for place, file in self._open.by_place.items() if place.topic == part.topic])
            self.encode()
            spool.widen(part.prepared)
        new = self._not_in_objects(part)
        if new is not None:
            self._group.append(new)
            if not is_consecutive:
                self._assign_group(is_consecutive=False)

    def _goes_with_group(self, part: Admitted, spool: Spool) -> bool:
        """Rows of one topic and schema are assigned together."""
        schema = part.prepared.schema
        same = schema is None if spool.schema is None else schema is not None and spool.schema.equals(schema)
        return same and self._group[0].topic == part.topic

    def _assign_group(self, *, is_consecutive: bool = True) -> None:
        group, self._group = self._group, []
        if not group:
            return
        spool, whole = self._spools[group[0].topic], joined_rows(group)
        numbers = self._rotation.assign(whole, self._open, self._worked_ms, is_consecutive=is_consecutive)
        for file in self._open.take_begun():
            spool.open(file.number, self._format.encoder())
        at = 0
        for part in group:
            offsets, times = part.consumed.offsets.to_numpy(), part.timestamps_ms.to_numpy()
            spool.add(Rows(part.prepared.rows, offsets, times), numbers[at : at + part.facts.length])
            at += part.facts.length

    def _not_in_objects(self, part: Admitted) -> Admitted | None:
        """The rows that the objects of their place do not reach; None when there are none."""
        names, offsets = part.facts.names, part.consumed.offsets.to_numpy()
        self._taken_end = (
            int(offsets[-1]) + 1 if self._taken_end is None else max(self._taken_end, int(offsets[-1]) + 1)
        )
        if self._reach_max <= offsets[0]:
            return part
        reach = np.array([self._reach.get(Place(part.topic, name), 0) for name in names], np.int64)
        if reach.max() <= offsets[0]:
            return part
        codes = part.facts.codes
        kept = np.flatnonzero(offsets >= (reach[0] if codes is None else reach[codes.to_numpy()]))
        self.rows_already_there += len(offsets) - len(kept)
        return part.picked(kept) if len(kept) else None

    def _forget_reaches(self) -> None:
        if len(self._reach) > _REACHES_MAX and self._position is not None:
            kept = {*self._open.by_place, *self._ended}
            self._reach = {p: end for p, end in self._reach.items() if p in kept or end > self._position}
            self._known = {}
            for place in self._reach:
                self._known.setdefault(place.topic, set()).add(place.path)

    def _check_order(self, parts: Sequence[Admitted]) -> None:
        first = parts[0].consumed.offsets[0].as_py() if parts else None
        if first is not None and self._taken_end is not None and first < self._taken_end:
            raise ConnectError(
                f"{self.partition.topic}-{self.partition.partition}: offset {first} came after {self._taken_end - 1}.",
                fix="Restart the task, so that it reads on from the committed offset.",
            )


def _are_consecutive(parts: Sequence[Admitted]) -> bool:
    return all(
        before.consumed.offsets[-1].as_py() <= after.consumed.offsets[0].as_py() for before, after in pairwise(parts)
    )
