"""Reads the committed records in a job's topics: it counts them by chunk and by key, and finds those of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from connect.api.records import TopicPartition
from connect.backfill.job.markers import HEADER_CHUNK, HEADER_JOB, added, checksum
from connect.backfill.verify.verdict import Keys
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch, RawHeaders
from connect.lib.deadline import Deadline

if TYPE_CHECKING:
    import pyarrow as pa

KEYS_AT_MOST: Final = 100_000_000
FOREIGN_AT_MOST: Final = 20_000_000
_KAFKA_S: Final = 60.0
_CLIENT: Final = "connect-backfill-verify"


@dataclass(slots=True)
class Found:
    """Adds up the committed records of a chunk that were read."""

    rows: int = 0
    checksum: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, raw: RawBatch) -> None:
        """Add the records of a batch."""
        self.rows += len(raw)
        self.checksum = added(self.checksum, checksum(raw))
        if raw.offsets is not None and len(raw):
            place, first, last = f"{raw.topic}-{raw.partition}", raw.offsets[0].as_py(), raw.offsets[-1].as_py()
            self.places[place] = (self.places.get(place, (first, last))[0], last)


class KeySet:
    """Tells how many different keys there are, by 64 bits of each. It takes 8 bytes of memory per record."""

    def __init__(self, most: int = KEYS_AT_MOST) -> None:
        """Count up to `most` records; with more, the set gives up."""
        self._most = most
        self._hashes: list[pa.Int64Array] = []
        self._records = 0

    def add(self, keys: pa.BinaryArray | None) -> None:
        """Add the keys of further records."""
        import pyarrow as pa

        if keys is None or keys.null_count == len(keys) or self._records > self._most:
            return
        present = keys.drop_null().to_pylist()
        hashes = pa.array(list(map(hash, present)), pa.int64())
        self._records += len(hashes)
        self._hashes.append(hashes)
        if self._records > self._most:
            self._hashes.clear()

    @property
    def counted(self) -> Keys | None:
        """Return the counts; None if there were too many records, or no keys."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._hashes:
            return None
        hashes = pa.concat_arrays(self._hashes).sort()
        # A table of them, which counts at once, would take three times the memory.
        return Keys(self._records, 1 + pc.sum(pc.not_equal(hashes[1:], hashes[:-1]), min_count=0).as_py())


class ForeignRecords:
    """Gathers records without the job's headers that lie behind the job's first record in their partition."""

    def __init__(self, most: int = FOREIGN_AT_MOST) -> None:
        """Keep up to `most` such records; with more, none are kept."""
        self._most = most
        self._begun: set[tuple[str, int | None]] = set()
        self._kept: Counter[int] = Counter()
        self._count = 0

    def own(self, raw: RawBatch) -> None:
        """Note the records of a batch as the job's own."""
        self._begun.add((raw.topic, raw.partition))

    def other(self, raw: RawBatch) -> None:
        """Gather the records of a batch, which are not the job's."""
        if (raw.topic, raw.partition) not in self._begun or self._count > self._most:
            return
        self._kept.update(digests(raw))
        self._count += len(raw)
        if self._count > self._most:
            self._kept.clear()

    @property
    def are_too_many(self) -> bool:
        """Return True if there were more records than could be kept."""
        return self._count > self._most

    def __bool__(self) -> bool:
        return bool(self._kept)

    def repeated_in(self, job: str, batches: Iterable[RawBatch]) -> int:
        """Return how many of the gathered records equal a record of the job byte for byte."""
        again = 0
        for _, part in parted(job, batches):
            for digest in digests(part):
                again += self._kept.pop(digest, 0)
            if not self._kept:
                break
        return again


def digests(raw: RawBatch) -> list[int]:
    """Return 64 bits of topic, key and value of each record. They are comparable within one process only."""
    keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
    return [hash((raw.topic, key, value)) for key, value in zip(keys, raw.values.to_pylist(), strict=True)]


class RecordTally:
    """Adds up the records of a job.

    With `chosen` only records of these chunks count; None: all do. The records of the `watched` chunks are kept one by
    one, as digests.
    """

    def __init__(self, job: str, chosen: frozenset[str] | None = None, watched: Collection[str] = ()) -> None:
        self._job = job
        self._chosen = chosen
        self.found: dict[str, Found] = {}
        self.keys = KeySet()
        self.foreign = ForeignRecords()
        self.watched: dict[str, Counter[int]] = {chunk: Counter() for chunk in watched}

    def add_all(self, batches: Iterable[RawBatch]) -> None:
        """Add the records of batches; those of each partition come in order."""
        for raw in batches:
            for chunk, part in _runs(self._job, raw):
                if chunk is None:
                    self.foreign.other(part)
                    continue
                self.foreign.own(part)
                if self._chosen is None or chunk in self._chosen:
                    self.found.setdefault(chunk, Found()).add(part)
                    self.keys.add(part.keys)
                    if chunk in self.watched:
                        self.watched[chunk].update(digests(part))


def parted(job: str, batches: Iterable[RawBatch]) -> Iterator[tuple[str, RawBatch]]:
    """Yield the records of a job with their chunk, by their headers; neighbours of one chunk come together."""
    for raw in batches:
        for chunk, part in _runs(job, raw):
            if chunk is not None:
                yield chunk, part


def _runs(job: str, raw: RawBatch) -> Iterator[tuple[str | None, RawBatch]]:
    start = 0
    # Records of one chunk lie side by side in a partition.
    for chunk, rows in groupby(raw.headers or ((),) * len(raw), key=lambda headers: _chunk(job, headers)):
        stop = start + sum(1 for _ in rows)
        yield chunk, raw.slice(start, stop)
        start = stop


def _chunk(job: str, headers: RawHeaders) -> str | None:
    # A row's own headers come before ours, so the last header of each name counts.
    own = dict(headers)
    mine, chunk = own.get(HEADER_JOB), own.get(HEADER_CHUNK)
    return chunk.decode() if mine == job.encode() and chunk is not None else None


class TopicReading:
    """Reads the committed records of some topics."""

    def __init__(self, worker: Mapping[str, str], topics: Collection[str]) -> None:
        self._worker = worker
        self._topics = topics
        self._admin = TopicAdmin(admin_settings(worker, {}, _CLIENT).properties)

    def records(self, times: Sequence[tuple[int, int]] | None) -> Iterator[RawBatch]:
        """Yield all records; with `times` (milliseconds) at least those that were written in these spans."""
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
                tp: OffsetRange(max(begins[tp], since.get(tp, end)), min(end, until.get(tp, end)))
                for tp, end in ends.items()
            }
            # There is no time limit: a topic may be large, and brokers that are away are waited for.
            yield from read_spans(settings, spans, Deadline.after(10**9))


def _apart(times: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of time with those merged that overlap."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(times):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
