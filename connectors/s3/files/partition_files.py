"""The files of one topic partition: which rows are buffered, ended, in the bucket, and so how far offsets may move.

No I/O and no clock, owned by the task thread. Never calls rows durable before an object that holds them is known.

The objects of a place are a chain: each starts at the first row of the place at or behind the end of the one before.
Whoever reads on from an offset and knows how far each chain reaches meets the same keys in the same order; an object
that is already there tells how far it reaches, and the rows behind it become the next link. That holds whatever made a
file end: records, the clock, memory, or another life of the task.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.s3.files.ended_files import EndedFile, EndedFiles
from connectors.s3.files.intake import Admitted, joined_rows
from connectors.s3.files.known_objects import KnownReaches
from connectors.s3.files.open_files import OpenFile, OpenFiles
from connectors.s3.files.rotation import Rotation
from connectors.s3.files.schedule import Schedule
from connectors.s3.files.spool import Rows, Spool
from connectors.s3.formats.file_format import Format
from connectors.s3.paths.layout import Extent, Place

_ENDED_SHARE: Final = 8
"""Files are encoded at once where one in so many has ended; where there are more, many of them together cost less."""
_HELD_ROWS_PER_FILE: Final = 16
_HELD_BYTES: Final = 8 * 2**20
"""Polls are held together until they have so many rows for each open file, or so many bytes."""


class PartitionFiles:
    """Holds the buffer of one topic partition."""

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
        self._reaches = KnownReaches()
        self._ended = EndedFiles(self._open, self._reaches)
        self._began: int | None = None
        self._taken_end: int | None = None

    @property
    def open_files(self) -> int:
        """Files that have not ended."""
        return len(self._open)

    @property
    def buffered_bytes(self) -> int:
        """Return the encoded and waiting bytes, ended files included."""
        return self._ended.size_bytes + self.open_bytes

    @property
    def open_bytes(self) -> int:
        """Bytes of what is not encoded to its end."""
        return self._held_bytes + sum(spool.size_bytes for spool in self._spools.values())

    def unknown_places(self, parts: Sequence[Admitted]) -> set[Place]:
        """Where these rows go, as far as it was not told yet how far the objects there reach."""
        return self._reaches.unknown(parts)

    def has_new_rows(self, parts: Sequence[Admitted]) -> bool:
        """Some of these rows are in no object, as far as it was told."""
        found = (self._reaches.rows_beyond(part) for part in parts if part.facts.length)
        return any(rows is None or len(rows) for rows in found)

    def has_rows_of(self, topic: str) -> bool:
        """Some rows of this topic are in no file yet, or in one that has not ended."""
        return bool(self._poll or self._held) or any(place.topic == topic for place in self._open.by_place)

    def learn(self, place: Place, reach: int) -> None:
        """Note that the objects of a place hold all its rows before this offset."""
        self._reaches.learn(place, reach)

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
        self._open.position = poll[0].consumed.next_offset
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
                self._take(part, is_consecutive=is_consecutive)
        self._assign_group()
        self._rotation.settle(self._open)
        if self._open.position is not None:
            self._reaches.forget(lambda p: p in self._open.by_place or p in self._ended, self._open.position)
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
        lacking = self._ended.lacking()
        self._end([file for place, file in self._open.by_place.items() if place in lacking])
        for spool in self._spools.values():
            spool.sort()
        ended, self._open.ended = self._open.ended, []
        numbers = {file.number for file in ended}
        for spool in self._spools.values():
            spool.expect_end(numbers)
        for file in ended:
            self._ended.append(self._encoded(file))

    def to_create(self, busy: Container[Place] = ()) -> Iterator[EndedFile]:
        """The files whose objects may be created now, without rows that are in objects; none of a busy place."""
        return self._ended.ready(busy)

    def created(self, file: EndedFile) -> None:
        """The object of a file from `to_create` is in the bucket, and it was this task that made it."""
        self.learn(file.place, file.end_offset)

    def found(self, file: EndedFile, extent: Extent) -> None:
        """The object of a file from `to_create` was there already, and holds this extent."""
        self.rows_already_there += file.rows_before(extent.end_offset)
        self.learn(file.place, extent.end_offset)

    def agree(self, file: EndedFile, end_offset: int) -> None:
        """Another writer has created the first of several objects of a file from `to_create`: all must end there."""
        self._ended.agree(file, end_offset)

    def durable_offset(self) -> int | None:
        """The next offset that may be committed; None while it is where this life began."""
        waiting = (self._ended.least_offset(), self._open.least_offset())
        least = min((offset for offset in waiting if offset is not None), default=None)
        durable = self._rotation.durable(least, self._open.position, self._reaches.farthest())
        has_moved = durable is not None and (self._began is None or durable > self._began)
        return durable if has_moved else None

    def _end(self, files: Sequence[OpenFile]) -> None:
        if files:
            self._rotation.end(files, self._open)

    def _encoded(self, file: OpenFile) -> EndedFile:
        written = self._spools[file.place.topic].end(file.number)
        offsets, times = written.offsets.tolist(), written.timestamps_ms.tolist()
        return EndedFile(self.partition, file.place, offsets, times, offsets[-1] + 1, written.body, self.topic_id)

    def _take(self, part: Admitted, *, is_consecutive: bool) -> None:
        """Give the rows that are in no object yet to files; the others have no say in what these look like."""
        new = self._not_in_objects(part)
        if new is not None:
            self._take_by_schema(new, is_consecutive=is_consecutive)

    def _take_by_schema(self, part: Admitted, *, is_consecutive: bool) -> None:
        spool = self._spools.setdefault(part.topic, Spool())
        if self._group and not (is_consecutive and self._goes_with_group(part, spool)):
            self._assign_group()
        if self._open.ended and not spool.holds(part.prepared):
            # Nor have rows behind the end of a file.
            self.encode()
        if not spool.widen(part.prepared):
            if part.prepared.is_inferred and part.facts.length > 1:
                # Files end before the very row that does not fit, wherever its batch began.
                for half in part.halves():
                    self._take_by_schema(half, is_consecutive=is_consecutive)
                return
            self._end([file for place, file in self._open.by_place.items() if place.topic == part.topic])
            self.encode()
            spool.begin(part.prepared)
        self._group.append(part)
        if not is_consecutive:
            self._assign_group(is_consecutive=False)

    def _goes_with_group(self, part: Admitted, spool: Spool) -> bool:
        """Rows of one topic and schema are assigned together."""
        return self._group[0].topic == part.topic and spool.holds(part.prepared)

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
        end = part.consumed.offsets[-1].as_py() + 1
        self._taken_end = end if self._taken_end is None else max(self._taken_end, end)
        kept = self._reaches.rows_beyond(part)
        if kept is None:
            return part
        self.rows_already_there += part.facts.length - len(kept)
        return part.picked(kept) if len(kept) else None

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
