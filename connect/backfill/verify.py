"""Is every row of a backfill in Kafka, once and unchanged? The topics are read again, and the source is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

from connect.api.bulk import BulkChunk, BulkReader, Split
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.driver import Driver
from connect.backfill.markers import HEADER_CHUNK, HEADER_JOB, ChunkState, added, checksum, chunk_states
from connect.kafka.log_reader import Span, read_spans
from connect.kafka.raw import RawBatch, RawHeaders
from connect.kafka.settings import admin_settings, consumer_settings
from connect.kafka.topics import TopicAdmin

_KAFKA_S: Final = 60.0
_SINK_S: Final = 600.0
_CLIENT: Final = "connect-backfill-verify"


@dataclass(frozen=True, slots=True)
class Found:
    """The records of a chunk that a reader of committed records gets."""

    rows: int = 0
    checksum: int = 0

    def plus(self, raw: RawBatch) -> Found:
        """With further records."""
        return Found(self.rows + len(raw), added(self.checksum, checksum(raw)))


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """One chunk. source: rows that the source has now; read: it gave; wrote: records of the transactions; found: in
    the topics. None: not finished, or not counted.
    """

    chunk: str
    source: int | None
    read: int | None
    wrote: int | None
    found: int
    same_content: bool
    letters: int = 0
    """Rows that no record can hold, and that are dead letters."""

    @property
    def missing(self) -> int:
        """Rows that are in the source or were written, and are not in Kafka."""
        unread = 0 if self.source is None or self.read is None else max(0, self.source - self.read)
        return unread + max(0, (self.wrote or 0) - self.found)

    @property
    def twice(self) -> int:
        """Records that are there more often than they were written."""
        return max(0, self.found - (self.wrote or 0))

    @property
    def gone(self) -> int:
        """Rows that the source no longer has: deleted, or changed since and left to the connector."""
        return 0 if self.source is None or self.read is None else max(0, self.read - self.source)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A whole job."""

    job: str
    chunks: Sequence[ChunkVerdict]

    @property
    def unfinished(self) -> list[str]:
        """Chunks that are not written to their end."""
        return [chunk.chunk for chunk in self.chunks if chunk.wrote is None]

    @property
    def missing(self) -> int:
        """Rows."""
        return sum(chunk.missing for chunk in self.chunks)

    @property
    def twice(self) -> int:
        """Records."""
        return sum(chunk.twice for chunk in self.chunks)

    @property
    def changed(self) -> list[str]:
        """Chunks with as many records as were written, but other ones."""
        whole = [c for c in self.chunks if c.wrote is not None and not c.missing and not c.twice]
        return [c.chunk for c in whole if not c.same_content]

    @property
    def is_good(self) -> bool:
        """Every row once, as it was written."""
        return not (self.unfinished or self.missing or self.twice or self.changed)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        summary = {"missing": self.missing, "twice": self.twice, "changed": self.changed, "unfinished": self.unfinished}
        return {"job": self.job, "good": self.is_good, **summary, "chunks": [asdict(chunk) for chunk in self.chunks]}

    def lines(self) -> Iterator[str]:
        """The report for people."""
        written = sum(chunk.wrote or 0 for chunk in self.chunks)
        found = sum(chunk.found for chunk in self.chunks)
        yield f"{len(self.chunks)} chunks, {written:,} records written, {found:,} found"
        for chunk in self.chunks:
            if chunk.missing or chunk.twice:
                yield f"  chunk {chunk.chunk}: {chunk.missing} missing, {chunk.twice} twice"
        if self.unfinished:
            yield f"  not finished: {', '.join(self.unfinished[:10])}{' …' * (len(self.unfinished) > 10)}"
        if self.changed:
            yield f"  other content than was written: {', '.join(self.changed[:10])}"
        if letters := sum(chunk.letters for chunk in self.chunks):
            yield f"  {letters:,} rows are dead letters"
        if gone := sum(chunk.gone for chunk in self.chunks):
            yield f"  {gone:,} rows were deleted or changed in the source since they were read"
        yield f"{'good' if self.is_good else 'NOT good'}: {self.missing} missing, {self.twice} twice"


def verify(driver: Driver, *, count_source: bool = True) -> Verdict:
    """Read everything again. ConnectError: the job was never planned, or something cannot be read."""
    deadline = Deadline.after(_KAFKA_S)
    if driver.spec.name not in driver.store.jobs(deadline).jobs:
        raise ConnectError(f"There is no backfill {driver.spec.name}.", fix="Begin it by `connect backfill run`.")
    splits = driver.store.driver_state(deadline).splits
    states = chunk_states(driver.store.all_markers(deadline))
    found = _found(driver, splits, states)
    reader = driver.connectors.open_source().bulk_reader() if count_source else None
    try:
        chunks = [_judged(split, states.get(split.id), found.get(split.id, Found()), reader) for split in splits]
    finally:
        if reader is not None:
            reader.close()
    unplanned = sorted(set(found) - {split.id for split in splits})
    chunks += [ChunkVerdict(chunk, None, 0, 0, found[chunk].rows, same_content=False) for chunk in unplanned]
    return Verdict(driver.spec.name, chunks)


def _found(driver: Driver, splits: Sequence[Split], states: Mapping[str, ChunkState]) -> Mapping[str, Found]:
    """What there is of each chunk: in the topics, or as its sink says."""
    name = driver.spec.name
    if driver.connectors.sink is not None:
        with closing(driver.connectors.open_writer()) as writer:
            chunks = [BulkChunk(name, split.id, driver.connectors.source is None) for split in splits]
            rows = writer.rows_of(chunks, Deadline.after(_SINK_S))
        # A sink keeps no checksums.
        return {chunk: Found(count) for chunk, count in rows.items()}
    topics = {topic for state in states.values() for topic in state.topics}
    return found_chunks(name, _records(driver.settings.worker, topics))


def found_chunks(job: str, batches: Iterable[RawBatch]) -> dict[str, Found]:
    """What there is of each chunk of a job, by the headers of the records."""
    found: dict[str, Found] = {}
    for raw in batches:
        start = 0
        # A chunk's records of one partition lie side by side.
        for chunk, rows in groupby(raw.headers or ((),) * len(raw), key=lambda headers: _chunk(job, headers)):
            stop = start + sum(1 for _ in rows)
            if chunk is not None:
                found[chunk] = found.get(chunk, Found()).plus(raw.slice(start, stop))
            start = stop
    return found


def _chunk(job: str, headers: RawHeaders) -> str | None:
    # The last of each name is ours: a row's own headers come before.
    own = dict(headers)
    mine, chunk = own.get(HEADER_JOB), own.get(HEADER_CHUNK)
    return chunk.decode() if mine == job.encode() and chunk is not None else None


def _judged(split: Split, state: ChunkState | None, found: Found, reader: BulkReader | None) -> ChunkVerdict:
    if state is None or not state.is_done:
        return ChunkVerdict(split.id, None, None, None, found.rows, same_content=False)
    source = None if reader is None else reader.count(split)
    same = (found.rows, found.checksum) == (state.rows, state.checksum)
    return ChunkVerdict(split.id, source, state.read, state.rows, found.rows, same, state.letters)


def _records(worker: Mapping[str, str], topics: Iterable[str]) -> Iterator[RawBatch]:
    admin = TopicAdmin(admin_settings(worker, {}, _CLIENT).properties)
    deadline = Deadline.after(_KAFKA_S)
    counts = admin.partition_counts(list(topics), deadline)
    wanted = [TopicPartition(topic, p) for topic, count in counts.items() for p in range(count)]
    if not wanted:
        return
    begins = admin.beginning_offsets(wanted, deadline)
    ends = admin.end_offsets(wanted, deadline, committed_only=True)
    settings = consumer_settings(worker, {}, client_id=_CLIENT).properties
    # No limit of time: a topic may be large, and a broker that is away is waited for.
    yield from read_spans(settings, {tp: Span(begins[tp], end) for tp, end in ends.items()}, Deadline.after(10**9))
