"""The files of one topic partition: which rows are buffered, ended, in the bucket, and so how far offsets may move.

No I/O and no clock, owned by the task thread. Never calls rows durable before an object that holds them is known.

All open files of a partition end together, at one offset: the end of their rotation. The objects of a place are a
chain: each starts at the first row of the place at or behind the end of the one before. Whoever starts at a committed
offset, which is such an end for every place, meets the same keys in the same order; an object that is already there
tells how far it reaches, and the rows behind it become the next link. That holds whatever made a rotation end: records,
the clock, or another life of the task.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from connect.api.errors import ConnectError, SchemaError
from connect.api.records import TopicPartition
from connectors.s3.formats import Body, Encoder, Format, can_hold, merged_schema
from connectors.s3.intake import NO_TIME, Admitted
from connectors.s3.layout import Extent, Place
from connectors.s3.rotation import Group, Rules, group_end, is_full

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EndedFile:
    """A file to be created: encoded rows, and their offsets in the log (ascending int64, at least one) and times."""

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


@dataclass(slots=True)
class _OpenFile:
    encoder: Encoder
    offsets: list[Any] = field(default_factory=list)
    timestamps_ms: list[Any] = field(default_factory=list)

    def ended(self, partition: TopicPartition, place: Place, end_offset: int, topic_id: str | None) -> EndedFile:
        offsets, times = _merged(self.offsets), _merged(self.timestamps_ms)
        return EndedFile(partition, place, offsets, times, end_offset, self.encoder.end(), topic_id)


@dataclass(slots=True)
class _Rotation:
    end_offset: int
    files: list[EndedFile]


class PartitionFiles:
    """The buffer of one topic partition."""

    def __init__(
        self, partition: TopicPartition, rules: Rules, file_format: Format, topic_id: str | None = None
    ) -> None:
        self.partition = partition
        self._topic_id = topic_id
        self._rules = rules
        self._format = file_format
        self._poll: list[Admitted] = []
        self._group = Group()
        self._open: dict[Place, _OpenFile] = {}
        self._schemas: dict[str, Any] = {}
        self._ended: deque[_Rotation] = deque()
        self._reach: dict[Place, int] = {}
        self._taken_end: int | None = None
        self._position: int | None = None
        self._durable: int | None = None

    @property
    def has_open_files(self) -> bool:
        """Rows are buffered in files that have not ended."""
        return bool(self._open) or any(a.facts.length for a in self._poll)

    @property
    def open_files(self) -> int:
        """Files that have not ended."""
        return len(self._open)

    @property
    def buffered_bytes(self) -> int:
        """Encoded and waiting bytes, ended files included."""
        ended: int = sum(f.body.data.size for rotation in self._ended for f in rotation.files)
        return ended + self.open_bytes

    @property
    def open_bytes(self) -> int:
        """Bytes of files that have not ended."""
        return sum(f.encoder.size_bytes for f in self._open.values())

    def take(self, admitted: Admitted) -> None:
        """Buffer rows; files end where the rules say.

        Transforms can split what was polled at once into batches that share `next_offset` and whose offsets
        interleave; only when the last of them is here may a file end. So a poll waits for the next one, or `settle`.
        """
        if self._poll and self._poll[0].consumed.next_offset != admitted.consumed.next_offset:
            self.settle()
        self._poll.append(admitted)

    def settle(self) -> None:
        """Work on what was polled last. Call it before `end_files` and `durable_offset`."""
        poll, self._poll = self._poll, []
        if not poll:
            return
        self._position = poll[0].consumed.next_offset
        batches = sorted((a for a in poll if a.facts.length), key=lambda a: a.consumed.offsets[0].as_py())
        self._check_order(batches)
        if _are_consecutive(batches):
            for admitted in batches:
                self._take_by_rules(admitted)
        elif batches:
            self._take_interleaved(batches)

    def end_files(self) -> None:
        """End all open files behind the last row taken."""
        if not self._open:
            return
        assert self._taken_end is not None
        files = [f.ended(self.partition, place, self._taken_end, self._topic_id) for place, f in self._open.items()]
        self._ended.append(_Rotation(self._taken_end, files))
        self._open = {}
        self._schemas = {}
        self._group = Group()

    def to_create(self) -> list[EndedFile]:
        """The files whose objects may be created now: those of the oldest rotation, without rows that are in objects.

        A place has at most one, because where the next one starts depends on what becomes of it.
        """
        while self._ended:
            head = self._ended[0]
            reached = ((f, self._reach.get(f.place)) for f in head.files)
            rest = (f if end is None else f.behind(end) for f, end in reached)
            head.files = [f for f in rest if f is not None]
            if head.files:
                return head.files
            self._ended.popleft()
            self._finish(head.end_offset)
        return []

    def created(self, file: EndedFile) -> None:
        """The object of a file from `to_create` is in the bucket, and it was this task that made it."""
        self._reach[file.place] = max(file.end_offset, self._reach.get(file.place, 0))

    def found(self, file: EndedFile, extent: Extent) -> None:
        """The object of a file from `to_create` was there already, and holds this extent."""
        self._reach[file.place] = max(extent.end_offset, self._reach.get(file.place, 0))

    def durable_offset(self) -> int | None:
        """The next offset that may be committed; None while nothing is known."""
        buffered = self._ended or self._open or self._poll
        if not buffered and self._position is not None and all(end <= self._position for end in self._reach.values()):
            self._reach = {}
            self._durable = self._position
        return self._durable

    def _finish(self, end_offset: int) -> None:
        # An offset is committed only where every place has an end: an object that reaches further was made by another
        # life of this task, and a restart in the middle of it would miss its key.
        self._reach = {place: end for place, end in self._reach.items() if end > end_offset}
        if not self._reach:
            self._durable = end_offset

    def _take_by_rules(self, admitted: Admitted) -> None:
        if admitted.prepared.is_inferred and admitted.facts.length > 1 and self._schema_with(admitted) is None:
            # The file ends before the very row that does not fit, wherever its batch began.
            for half in admitted.halves():
                self._take_by_rules(half)
            return
        self._check_schema(admitted)
        facts, start = admitted.facts, 0
        while start < facts.length:
            end = group_end(self._rules, self._group, admitted.topic, facts, start)
            if end is None:
                self._write(admitted, start, facts.length)
                return
            end = _behind_record(admitted, end) if end > start else end
            self._write(admitted, start, end)
            self.end_files()
            start = end

    def _take_interleaved(self, batches: Sequence[Admitted]) -> None:
        # Files may end only where no row of this poll is missing: before it or behind it.
        if any(self._schema_with(admitted) is None for admitted in batches):
            self.end_files()
        for admitted in batches:
            self._check_schema(admitted)
            self._write(admitted, 0, admitted.facts.length)
        if any(is_full(self._rules, self._group, admitted.facts) for admitted in batches):
            self.end_files()

    def _check_schema(self, admitted: Admitted) -> None:
        merged = self._schema_with(admitted)
        if merged is None:
            self.end_files()
            merged = _Schema(admitted.prepared.schema)
        self._schemas[admitted.topic] = merged.arrow

    def _check_order(self, batches: Sequence[Admitted]) -> None:
        first = batches[0].consumed.offsets[0].as_py() if batches else None
        if first is not None and self._taken_end is not None and first < self._taken_end:
            raise ConnectError(
                f"{self.partition.topic}-{self.partition.partition}: offset {first} came after {self._taken_end - 1}.",
                fix="Restart the task, so that it reads on from the committed offset.",
            )

    def _check_file_order(self, topic: str, file: _OpenFile, offsets: Any) -> None:
        """What an object holds already is cut off a file by its offset, so rows of one file must ascend."""
        last, first = file.offsets[-1][-1].as_py() if file.offsets else -1, offsets[0].as_py()
        if first < last:
            where = f"{self.partition.topic}-{self.partition.partition}"
            raise ConnectError(
                f"{where}: offset {first} of topic {topic} came after {last}.",
                fix="Do not let transforms part the rows of a topic and join them again.",
            )

    def _schema_with(self, admitted: Admitted) -> _Schema | None:
        """The schema of the topic's files with these rows; None where they need new files."""
        current = self._schemas.get(admitted.topic)
        try:
            merged = merged_schema(current, admitted.prepared)
        except SchemaError:
            return None
        if current is None or merged is None or merged.equals(current):
            return _Schema(merged)
        files = (file for place, file in self._open.items() if place.topic == admitted.topic)
        fits = all(file.encoder.can_become(merged) for file in files)
        return _Schema(merged) if fits and can_hold(merged, admitted.prepared) else None

    def _write(self, admitted: Admitted, start: int, stop: int) -> None:
        if start == stop:
            return
        first, last = (admitted.consumed.offsets[row].as_py() for row in (start, stop - 1))
        schema = self._schemas.setdefault(admitted.topic, admitted.prepared.schema)
        paths = []
        for path, rows, offsets, times in _by_path(admitted, start, stop):
            file = self._open.get(Place(admitted.topic, path))
            if file is None:
                file = self._open[Place(admitted.topic, path)] = _OpenFile(self._format.encoder())
            self._check_file_order(admitted.topic, file, offsets)
            file.encoder.write(rows, schema)
            file.offsets.append(offsets)
            file.timestamps_ms.append(times)
            paths.append(path)
        self._group.add(admitted.topic, admitted.facts, paths, start, stop)
        self._taken_end = max(last + 1, first if self._taken_end is None else self._taken_end)


class _Schema(NamedTuple):
    arrow: pa.Schema | None


class _Run(NamedTuple):
    path: str
    rows: Any
    offsets: Any
    timestamps_ms: Any


def _by_path(admitted: Admitted, start: int, stop: int) -> Iterator[_Run]:
    import pyarrow.compute as pc

    facts = admitted.facts
    rows = admitted.prepared.rows.slice(start, stop - start)
    offsets = admitted.consumed.offsets.slice(start, stop - start)
    times = admitted.timestamps_ms.slice(start, stop - start)
    codes = None if facts.codes is None else facts.codes.slice(start, stop - start)
    if codes is None or pc.count_distinct(codes).as_py() == 1:
        yield _Run(facts.path(start), rows, offsets, times)
        return
    order = pc.sort_indices(codes)  # stable, so that rows of a path keep their order
    rows, offsets, times = rows.take(order), offsets.take(order), times.take(order)
    counts = sorted((c["values"].as_py(), c["counts"].as_py()) for c in pc.value_counts(codes))
    at = 0
    for code, count in counts:
        yield _Run(facts.names[code], rows.slice(at, count), offsets.slice(at, count), times.slice(at, count))
        at += count


def _behind_record(admitted: Admitted, end: int) -> int:
    """Where the last record before row `end` has all its rows behind it.

    A transform may make several rows of a record, which share its offset: an object holds all of them or none, as
    where the next one starts is an offset.
    """
    offsets = admitted.consumed.offsets
    last = offsets[end - 1].as_py()
    if end == len(offsets) or offsets[end].as_py() != last:
        return end
    return bisect_right(_merged([offsets]), last, end)


def _are_consecutive(batches: Sequence[Admitted]) -> bool:
    return all(
        before.consumed.offsets[-1].as_py() < after.consumed.offsets[0].as_py() for before, after in pairwise(batches)
    )


def _merged(parts: Sequence[Any]) -> Sequence[int]:
    import pyarrow as pa

    array = pa.concat_arrays(parts)
    return memoryview(array.buffers()[1]).cast("q")[array.offset : array.offset + len(array)]
