"""Keeps the files of one topic partition: buffered rows, ended files, and objects, and so the offset to commit.

No I/O and no clock. It is owned by the task thread. Rows never count as durable before an object is known to hold them.

The objects of a place are a chain: each one starts at the place's first row at or behind the end of the one before. A
task that reads on from an offset, and knows how far each chain reaches, makes the same keys in the same order. If an
object of such a key exists, its metadata tell how far it reaches, and the rows behind it become the next object. That
is so whatever made a file end: records, the clock, memory, or a restart of the task.

A task that begins behind the end of a chain leaves a gap in it, which the metadata of later objects tell. If the gap is
read later, its rows become objects of their own, the last of which ends before the next object starts.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.s3.files.ended_files import EndedFile
from connectors.s3.files.held_polls import HeldPolls
from connectors.s3.files.intake import Admitted
from connectors.s3.files.known_objects import KnownObjects
from connectors.s3.files.rotation import Rotation
from connectors.s3.files.row_assignment import RowAssignment
from connectors.s3.files.schedule import Schedule
from connectors.s3.formats.file_format import Format
from connectors.s3.paths.layout import Extent, Place


class PartitionFiles:
    """Buffers the rows of one topic partition: in polls that wait, in open files, and in files that have ended."""

    def __init__(
        self, partition: TopicPartition, rotation: Rotation, file_format: Format, topic_id: str | None = None
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self._rotation = rotation
        self._polls = HeldPolls()
        self._rows = RowAssignment(partition, rotation, file_format, topic_id)
        self._open = self._rows.open
        self._ended = self._rows.ended
        self._rows_found = 0
        self._next_due_ms = math.inf
        self._undated_ms: int | None = None

    @property
    def reaches(self) -> KnownObjects:
        """Return how far the objects of each place reach."""
        return self._rows.reaches

    @property
    def rows_already_there(self) -> int:
        """Return the number of read rows that are in objects of other tasks, or from before a restart."""
        return self._rows.rows_already_there + self._rows_found

    @property
    def open_files(self) -> int:
        """Return the number of files that have not ended."""
        return len(self._open)

    @property
    def buffered_bytes(self) -> int:
        """Return the bytes of all rows that are in no object yet, also of ended files."""
        return self._ended.size_bytes + self.open_bytes

    @property
    def open_bytes(self) -> int:
        """Return the bytes of rows in polls that wait and in files that are not completely encoded."""
        return self._polls.size_bytes + self._rows.size_bytes

    def has_rows_of(self, topic: str) -> bool:
        """Return True if rows of this topic may wait in a poll, or are in an open file."""
        return self._polls.has_parts or any(place.topic == topic for place in self._open.by_place)

    def take(self, admitted: Admitted, now_ms: int) -> None:
        """Buffer rows; files end as the rules say.

        The rows of a poll wait until the next poll, or until `end_poll` or `settle` is called, as more parts of the
        poll may come.
        """
        if self._polls.is_of_other_poll(admitted):
            self.end_poll()
        self._polls.add(admitted, now_ms)

    def end_poll(self) -> None:
        """Note that the last poll is complete. Give the rows of all held polls to their files if these are enough."""
        poll = self._polls.end()
        if not poll:
            return
        self._open.position = poll[0].consumed.next_offset
        parts = sorted((a for a in poll if a.facts.length), key=lambda a: a.consumed.offsets[0].as_py())
        self._check_order(parts)
        if parts and self.reaches.began is None:
            self.reaches.began = parts[0].consumed.offsets[0].as_py()
        self._polls.hold(parts)
        self._undated_ms = self._polls.ended_ms if self._undated_ms is None else self._undated_ms
        if self._rotation.ends_by_poll or not self._polls.are_few(len(self._open)):
            self._work()

    def settle(self) -> None:
        """Give all polled rows to their files. Call it before `encode`, `end_largest` and `durable_offset`."""
        self.end_poll()
        self._work()

    def end_due(self, schedule: Schedule, now_ms: int) -> None:
        """End the files that the clock ends."""
        if self._undated_ms is not None:
            self._next_due_ms = min(self._next_due_ms, schedule.due_at(self._undated_ms, self._undated_ms))
            self._undated_ms = None
        if now_ms < self._next_due_ms:
            return
        self._work()
        files = self._open.by_place.values()
        self._rows.end([f for f in files if schedule.due_at(f.opened_ms, f.last_row_ms) <= now_ms])
        dues = (schedule.due_at(opened, last) for opened, last in {(f.opened_ms, f.last_row_ms) for f in files})
        self._next_due_ms = min(dues, default=math.inf)

    def end_all(self) -> None:
        """End all files."""
        self._rows.end(list(self._open.by_place.values()))

    def end_largest(self, most_bytes: int) -> None:
        """End and encode the largest files, until the ended ones have `most_bytes` bytes together."""
        self._rows.end(self._rows.largest(most_bytes))
        self.encode()

    def encode(self) -> None:
        """Encode the rows of files that have ended, so that they can become objects."""
        self._rows.encode()

    def to_create(self, busy: Container[Place] = ()) -> Iterator[EndedFile]:
        """Yield the files whose objects may be created now, without rows that are in objects already.

        No file of a place in `busy` is among them.
        """
        return self._ended.ready(busy)

    def created(self, file: EndedFile) -> None:
        """Note that the object of a file from `to_create` is in the bucket, and that this task made it."""
        self.reaches.extend(file.place, file.end_offset)

    def found(self, file: EndedFile, extent: Extent) -> None:
        """Note that the object of a file from `to_create` was there already, and holds this extent."""
        self._rows_found += file.rows_before(extent.end_offset)
        self.reaches.extend(file.place, extent.end_offset)

    def agree(self, file: EndedFile, end_offset: int) -> None:
        """Note that another writer created the first of a file's objects: all of them must end at this offset."""
        self._ended.agree(file, end_offset)

    def durable_offset(self) -> int | None:
        """Return the next offset that may be committed, or None if it has not moved since the task began to read."""
        waiting = (self._ended.least_offset(), self._open.least_offset())
        least = min((offset for offset in waiting if offset is not None), default=None)
        durable = self._rotation.durable(least, self._open.position, self.reaches.farthest())
        began = self.reaches.began
        has_moved = durable is not None and (began is None or durable > began)
        return durable if has_moved else None

    def _work(self) -> None:
        """Give the rows that are held to their files."""
        held = self._polls.release()
        if held:
            self._rows.take(held, self._polls.ended_ms)

    def _check_order(self, parts: Sequence[Admitted]) -> None:
        first = parts[0].consumed.offsets[0].as_py() if parts else None
        taken_end = self._rows.taken_end
        if first is not None and taken_end is not None and first < taken_end:
            raise ConnectError(
                f"{self.partition.topic}-{self.partition.partition}: offset {first} came after {taken_end - 1}.",
                fix="Restart the task, so that it reads on from the committed offset.",
            )
