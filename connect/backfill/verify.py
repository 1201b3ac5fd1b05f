"""Verifies that every row of a backfill is in Kafka, once and unchanged: reads the topics again, counts the source."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from connect.api.bulk import BulkChunk, BulkReader, Split
from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.backfill.division import placed_chunks
from connect.backfill.driver import Driver
from connect.backfill.markers import HEADER_CHUNK, HEADER_JOB, ChunkState, Marker, added, checksum, chunk_states
from connect.backfill.verdict import ChunkVerdict, Keys, Verdict
from connect.kafka.log_reader import Span, read_spans
from connect.kafka.raw import RawBatch, RawHeaders
from connect.kafka.settings import admin_settings, consumer_settings
from connect.kafka.topics import TopicAdmin

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

KEYS_AT_MOST: Final = 100_000_000
_MARGIN_MS: Final = 10_000
"""The tolerance for timestamps: clocks of lanes and brokers differ, and a transaction takes its time."""
_KAFKA_S: Final = 60.0
_SINK_S: Final = 600.0
_CLIENT: Final = "connect-backfill-verify"


@dataclass(slots=True)
class Found:
    """The records of a chunk that a reader of committed records gets."""

    rows: int = 0
    checksum: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, raw: RawBatch) -> None:
        """Add further records."""
        self.rows += len(raw)
        self.checksum = added(self.checksum, checksum(raw))
        if raw.offsets is not None and len(raw):
            place, first, last = f"{raw.topic}-{raw.partition}", raw.offsets[0].as_py(), raw.offsets[-1].as_py()
            self.places[place] = (self.places.get(place, (first, last))[0], last)


class KeySet:
    """How many different keys there are, by 64 bits of each: 8 bytes of memory a record."""

    def __init__(self, most: int = KEYS_AT_MOST) -> None:
        """With more than `most` records the set gives up."""
        self._most = most
        self._hashes: list[np.ndarray] = []
        self._records = 0

    def add(self, keys: pa.BinaryArray | None) -> None:
        """Take the keys of further records."""
        import numpy as np

        if keys is None or keys.null_count == len(keys) or self._records > self._most:
            return
        present = keys.drop_null().to_pylist()
        hashes = np.fromiter(map(hash, present), np.int64, len(present))
        self._records += len(hashes)
        self._hashes.append(hashes)
        if self._records > self._most:
            self._hashes.clear()

    @property
    def counted(self) -> Keys | None:
        """The count; None where there were too many records, or none."""
        import numpy as np

        return Keys(self._records, len(np.unique(np.concatenate(self._hashes)))) if self._hashes else None


def verify(driver: Driver, *, count_source: bool = True, sample: float = 1.0) -> Verdict:
    """Read everything again; of a `sample` below 1 the records of so many chunks, and the markers of all.

    ConnectError: the job was never planned, its plan is lost, or something cannot be read.
    """
    deadline = Deadline.after(_KAFKA_S)
    job = driver.spec.name
    planned = driver.planned_splits(driver.require_known())
    markers = driver.store.all_markers(deadline)
    splits = [chunk.split for chunk in placed_chunks(planned, markers, driver.store.topics.lanes)]
    states = chunk_states(markers)
    chosen = chosen_chunks(job, [split.id for split in splits], sample)
    found, keys = _found(driver, splits, markers, chosen)
    reader = driver.connectors.open_source().bulk_reader() if count_source else None
    try:
        chunks = [
            _judged(split, states.get(split.id), found.get(split.id, Found()) if split.id in chosen else None, reader)
            for split in splits
        ]
    finally:
        if reader is not None:
            reader.close()
    unplanned = sorted(set(found) - {split.id for split in splits})
    chunks += [ChunkVerdict(chunk, None, 0, 0, found[chunk].rows, same_content=False) for chunk in unplanned]
    return Verdict(job, chunks, keys, sample)


def chosen_chunks(job: str, chunks: Sequence[str], sample: float) -> frozenset[str]:
    """Choose a share of the chunks, the same ones each time; at least one."""
    if sample >= 1:
        return frozenset(chunks)
    count = max(1, math.ceil(len(chunks) * sample))
    return frozenset(sorted(chunks, key=lambda chunk: zlib.crc32(f"{job}/{chunk}".encode()))[:count])


def _found(
    driver: Driver, splits: Sequence[Split], markers: Sequence[Marker], chosen: frozenset[str]
) -> tuple[Mapping[str, Found], Keys | None]:
    """What there is of each chosen chunk, in the topics or as its sink says; and their keys, which no sink tells."""
    name = driver.spec.name
    if driver.connectors.sink is not None:
        with closing(driver.connectors.open_writer()) as writer:
            chunks = [BulkChunk(name, split.id, driver.connectors.source is None) for split in splits]
            rows = writer.rows_of([chunk for chunk in chunks if chunk.id in chosen], Deadline.after(_SINK_S))
        # A sink keeps no checksums.
        return {chunk: Found(count) for chunk, count in rows.items()}, None
    states = chunk_states(markers)
    topics = {topic for state in states.values() for topic in state.topics}
    reading = TopicReading(driver.settings.worker, topics)
    if len(chosen) < len(splits):
        times = times_of(markers, chosen, driver.spec.limits.chunk_timeout)
        keys = KeySet()
        found = found_chunks(name, reading.records(times), keys, chosen)
        if all(found.get(chunk, Found()).rows >= states[chunk].rows for chunk in chosen & states.keys()):
            return found, keys.counted
        # Rows are missing, or records have the times of their source: only the whole topic tells.
    keys = KeySet()
    return found_chunks(name, reading.records(None), keys, None if len(chosen) == len(splits) else chosen), keys.counted


def times_of(markers: Sequence[Marker], chosen: frozenset[str], timeout_s: float) -> list[tuple[int, int]]:
    """The times, in milliseconds since 1970, between which the records of the chosen chunks were sent."""
    # A marker is made before its transaction begins, which lasts for so long at most.
    longest_ms = int(timeout_s * 1000) + _MARGIN_MS
    return [(m.written_ms - _MARGIN_MS, m.written_ms + longest_ms) for m in markers if m.chunk in chosen]


def found_chunks(
    job: str, batches: Iterable[RawBatch], keys: KeySet | None = None, chosen: frozenset[str] | None = None
) -> dict[str, Found]:
    """What there is of each chunk of a job, by the headers of the records. `chosen`: leave out the others."""
    found: dict[str, Found] = {}
    for raw in batches:
        start = 0
        # A chunk's records of one partition lie side by side.
        for chunk, rows in groupby(raw.headers or ((),) * len(raw), key=lambda headers: _chunk(job, headers)):
            stop = start + sum(1 for _ in rows)
            if chunk is not None and (chosen is None or chunk in chosen):
                part = raw.slice(start, stop)
                found.setdefault(chunk, Found()).add(part)
                if keys is not None:
                    keys.add(part.keys)
            start = stop
    return found


def _chunk(job: str, headers: RawHeaders) -> str | None:
    # The last of each name is ours: a row's own headers come before.
    own = dict(headers)
    mine, chunk = own.get(HEADER_JOB), own.get(HEADER_CHUNK)
    return chunk.decode() if mine == job.encode() and chunk is not None else None


def _judged(split: Split, state: ChunkState | None, found: Found | None, reader: BulkReader | None) -> ChunkVerdict:
    """Judge one chunk. `found` is None where its records were not read."""
    if state is None or not state.is_done:
        return ChunkVerdict(split.id, None, None, None, None if found is None else found.rows, same_content=False)
    source = None if reader is None else reader.count(split)
    counted = ChunkVerdict(split.id, source, state.read, state.rows, None, same_content=True, letters=state.letters)
    if found is None:
        return counted
    same = (found.rows, found.checksum) == (state.rows, state.checksum)
    return replace(counted, found=found.rows, same_content=same, places=found.places)


class TopicReading:
    """Reads the committed records of some topics."""

    def __init__(self, worker: Mapping[str, str], topics: Collection[str]) -> None:
        self._worker = worker
        self._topics = topics
        self._admin = TopicAdmin(admin_settings(worker, {}, _CLIENT).properties)

    def records(self, times: Sequence[tuple[int, int]] | None) -> Iterator[RawBatch]:
        """Read all records; with `times` those that were written in between, and perhaps others."""
        deadline = Deadline.after(_KAFKA_S)
        counts = self._admin.partition_counts(list(self._topics), deadline)
        wanted = [TopicPartition(topic, p) for topic, count in counts.items() for p in range(count)]
        if not wanted:
            return
        begins = self._admin.beginning_offsets(wanted, deadline)
        ends = self._admin.end_offsets(wanted, deadline, committed_only=True)
        settings = consumer_settings(self._worker, {}, client_id=_CLIENT).properties
        for first_ms, last_ms in [(None, None)] if times is None else _apart(times):
            since = begins if first_ms is None else self._admin.offsets_at(wanted, first_ms, deadline)
            until = ends if last_ms is None else self._admin.offsets_at(wanted, last_ms, deadline)
            spans = {
                tp: Span(max(begins[tp], since.get(tp, end)), min(end, until.get(tp, end))) for tp, end in ends.items()
            }
            # No limit of time: a topic may be large, and a broker that is away is waited for.
            yield from read_spans(settings, spans, Deadline.after(10**9))


def _apart(times: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge spans of time that overlap."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(times):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
