"""What a reader of committed records finds in the topics of a job: by chunk, by key, and beside the job's own."""

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
    import numpy as np
    import pyarrow as pa

KEYS_AT_MOST: Final = 100_000_000
FOREIGN_AT_MOST: Final = 20_000_000
_KAFKA_S: Final = 60.0
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
    """Tells how many different keys there are, by 64 bits of each: 8 bytes of memory a record."""

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
        """Return the count; None where there were too many records, or none."""
        import numpy as np

        return Keys(self._records, len(np.unique(np.concatenate(self._hashes)))) if self._hashes else None


class ForeignRecords:
    """Gathers records without the job's headers that lie behind its first record of their partition: since it began."""

    def __init__(self, most: int = FOREIGN_AT_MOST) -> None:
        """With more than `most` of them they are no longer kept."""
        self._most = most
        self._begun: set[tuple[str, int | None]] = set()
        self._kept: Counter[int] = Counter()
        self._count = 0

    def own(self, raw: RawBatch) -> None:
        """Take note of records of the job."""
        self._begun.add((raw.topic, raw.partition))

    def other(self, raw: RawBatch) -> None:
        """Take records that are none of the job's."""
        if (raw.topic, raw.partition) not in self._begun or self._count > self._most:
            return
        self._kept.update(digests(raw))
        self._count += len(raw)
        if self._count > self._most:
            self._kept.clear()

    @property
    def are_too_many(self) -> bool:
        """Tell if there were more than could be kept."""
        return self._count > self._most

    def __bool__(self) -> bool:
        return bool(self._kept)

    def repeated_in(self, job: str, batches: Iterable[RawBatch]) -> int:
        """Return how many of them are, byte for byte, records of the job."""
        again = 0
        for _, part in parted(job, batches):
            for digest in digests(part):
                again += self._kept.pop(digest, 0)
            if not self._kept:
                break
        return again


def digests(raw: RawBatch) -> list[int]:
    """Return 64 bits of topic, key and value of each record, the same within one process."""
    keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
    return [hash((raw.topic, key, value)) for key, value in zip(keys, raw.values.to_pylist(), strict=True)]


class RecordTally:
    """Adds up the records of a job. `chosen`: of these chunks alone; None: of all. `watched`: the chunks whose records
    are to be told one by one, as digests.
    """

    def __init__(self, job: str, chosen: frozenset[str] | None = None, watched: Collection[str] = ()) -> None:
        self._job = job
        self._chosen = chosen
        self.found: dict[str, Found] = {}
        self.keys = KeySet()
        self.foreign = ForeignRecords()
        self.watched: dict[str, Counter[int]] = {chunk: Counter() for chunk in watched}

    def add_all(self, batches: Iterable[RawBatch]) -> None:
        """Take the records of batches, in the order of each partition."""
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
    """Yield the records of a job by their headers: neighbours of one chunk together."""
    for raw in batches:
        for chunk, part in _runs(job, raw):
            if chunk is not None:
                yield chunk, part


def _runs(job: str, raw: RawBatch) -> Iterator[tuple[str | None, RawBatch]]:
    start = 0
    # A chunk's records of one partition lie side by side.
    for chunk, rows in groupby(raw.headers or ((),) * len(raw), key=lambda headers: _chunk(job, headers)):
        stop = start + sum(1 for _ in rows)
        yield chunk, raw.slice(start, stop)
        start = stop


def _chunk(job: str, headers: RawHeaders) -> str | None:
    # The last of each name is ours: a row's own headers come before.
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
                tp: OffsetRange(max(begins[tp], since.get(tp, end)), min(end, until.get(tp, end)))
                for tp, end in ends.items()
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
