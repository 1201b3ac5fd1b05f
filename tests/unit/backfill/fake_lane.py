"""A broker that knows transactions, and a source of numbers: enough for the chunk protocol, without Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from connect.api.errors import SchemaError
from connect.api.optional.bulk import Split
from connect.api.records import Batch, Column, SourcePosition
from connect.backfill.job.chunk import LaneLimits, LaneReport, LaneRun, LaneWork, Signal, Step
from connect.backfill.job.markers import Marker, markers
from connect.backfill.job.parts import ChunkPart, Rejected, RemainingChunk, record_parts
from connect.backfill.lane.read_ahead import ReadAhead
from connect.kafka.client.errors import FencedError
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.pipeline import Encoded

JOB, TOPIC, MARKERS, LETTERS = "numbers", "rows", "markers", "letters"
PAGE = 10


class Broker:
    """Committed records per topic, and the newest epoch and open transaction of each transactional id."""

    def __init__(self) -> None:
        self.committed: dict[str, list[tuple[bytes | None, bytes]]] = {}
        self.epochs: dict[str, int] = {}
        self.open: dict[str, list[RawBatch]] = {}

    @property
    def rows(self) -> list[int]:
        """The numbers that a reader of committed records gets, dead letters included."""
        return [int(value) for topic in (TOPIC, LETTERS) for _, value in self.committed.get(topic, [])]


class Producer:
    """One producer under one transactional id."""

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._name = name
        self._epoch = -1

    def init_transactions(self, deadline: Deadline) -> None:
        self._epoch = self._broker.epochs[self._name] = self._broker.epochs.get(self._name, -1) + 1
        self._broker.open.pop(self._name, None)

    def begin(self) -> None:
        self._check()
        assert self._name not in self._broker.open
        self._broker.open[self._name] = []

    def send(self, batch: RawBatch, deadline: Deadline) -> None:
        self._check()
        self._broker.open[self._name].append(batch)

    def commit(self, deadline: Deadline) -> None:
        self._check()
        for batch in self._broker.open.pop(self._name):
            keys = [None] * len(batch) if batch.keys is None else batch.keys.to_pylist()
            self._broker.committed.setdefault(batch.topic, []).extend(zip(keys, batch.values.to_pylist(), strict=True))

    def abort(self, deadline: Deadline) -> None:
        self._check()
        self._broker.open.pop(self._name, None)

    def _check(self) -> None:
        if self._broker.epochs[self._name] != self._epoch:
            raise FencedError("another producer has this transactional id")


class Numbers:
    """Splits of numbers, given in pages of ten. `before_page` may raise."""

    def __init__(self, before_page: Callable[[], None] = lambda: None) -> None:
        self._before_page = before_page

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        first, end = split.bounds["first"], split.bounds["end"]
        begin = first if after is None else after["next"]
        for start in range(begin, end, PAGE):
            self._before_page()
            stop = min(start + PAGE, end)
            column = Column.from_rows([str(n) for n in range(start, stop)], None)
            yield Batch(TOPIC, column, position=SourcePosition({}, {"next": stop}))

    def count(self, split: Split) -> int:
        return split.rows

    def close(self) -> None:
        pass


class PickyNumbers(Numbers):
    """Gives up numbers that end in 5. Implements RejectingReader."""

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        self._reject = reject

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        for batch in super().read(split, after):
            rows = batch.values.rows()
            self._reject(batch, {i: SchemaError("it ends in 5") for i, row in enumerate(rows) if row.endswith("5")})
            yield batch.take([i for i, row in enumerate(rows) if not row.endswith("5")])


class CountedNumbers(Numbers):
    """Has places to go on from behind every third page, and counts what it is to give. Implements CountedReader."""

    counted: int | None = None

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        self.counted = split.bounds["end"] - (split.bounds["first"] if after is None else after["next"])
        for batch in super().read(split, after):
            next_ = batch.position.offset["next"]
            is_place = next_ % (3 * PAGE) == 0 or next_ == split.bounds["end"]
            yield batch if is_place else replace(batch, position=SourcePosition({}, None))


@dataclass
class Ports:
    """The outside of a lane, made anew for each run."""

    broker: Broker
    producer: Producer
    reader: Numbers
    signals: list[Signal] = field(default_factory=list)
    max_bytes: int = 10**6
    lane: int = 0

    def __post_init__(self) -> None:
        self.ahead = ReadAhead(lambda rest: record_parts(self.reader, self.encode, rest, self.max_bytes))

    def encode(self, batch: Batch, rejected: Sequence[Rejected]) -> Encoded:
        """Multiples of a hundred plus 99 are bad rows, whose letters hold them, and so are those the source gave up."""
        rows = [row.encode() for row in batch.values.rows()]
        good, bad = [row for row in rows if not row.endswith(b"99")], [row for row in rows if row.endswith(b"99")]
        bad += [given_up.batch.values.rows()[i].encode() for given_up in rejected for i in given_up.reasons]
        letters = [RawBatch(LETTERS, pa.array(bad, pa.binary()))] if bad else []
        return Encoded([RawBatch(TOPIC, pa.array(good, pa.binary()))], letters)

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        return self.ahead.parts(rest, then)

    def markers(self) -> Iterable[Marker]:
        return committed_markers(self.broker, self.lane)

    def marker_batch(self, marker: Marker) -> RawBatch:
        key, value = marker.record
        return RawBatch(
            markers_of(self.lane), pa.array([value], pa.binary()), pa.array([key], pa.binary()), partition=0
        )

    def signal(self) -> Signal:
        return self.signals.pop(0) if self.signals else Signal.GO_ON

    def pace(self, rows: int, size_bytes: int) -> None:
        pass


def markers_of(lane: int) -> str:
    """Where a lane's markers are."""
    return f"{MARKERS}-{lane}" if lane else MARKERS


def committed_markers(broker: Broker, lane: int) -> list[Marker]:
    """What is committed of them, in order."""
    return markers([(key or b"", value) for key, value in broker.committed.get(markers_of(lane), [])])


def chunks(count: int, rows: int) -> list[Split]:
    """Chunks of so many numbers each, from 0 on."""
    return [Split(f"c{i}", {"first": i * rows, "end": (i + 1) * rows}, rows) for i in range(count)]


def run(
    broker: Broker,
    work: Sequence[Split],
    on_step: Callable[[Step, str], None] = lambda _step, _chunk: None,
    *,
    reader: Numbers | None = None,
    signals: Sequence[Signal] = (),
    max_bytes: int = 10**6,
    lane: int = 0,
) -> LaneReport:
    """One run of a lane."""
    ports = Ports(broker, Producer(broker, f"bf-numbers-{lane}"), reader or Numbers(), list(signals), max_bytes, lane)
    try:
        return LaneRun(LaneWork(JOB, lane, work, LaneLimits(max_bytes, 5.0, 3)), ports, on_step).run()
    finally:
        ports.ahead.close()
