"""Writes tombstones for keys that a topic has and its source no longer has, after every row was read and found.

A key counts as gone if its newest record has a value, was written before the job began and is not the job's: the job
wrote a record for each row that the source had. A key that changed since, through anything else that writes to the
topic, has a newer record and stays.

The source is asked for each such key just before its tombstone is written, as its row may have come since the table was
read. It is asked once more when the tombstone is in Kafka: a row that came in between, whose record may lie before the
tombstone, is written again. Rows that come later have their records behind the tombstone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple

import pyarrow as pa

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.driver import Driver
from connect.backfill.job.markers import HEADER_JOB, chunk_states
from connect.backfill.verify.found_rows import FoundRows
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.consume.log_reader import OffsetRange, Settings, read_spans
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

_KAFKA_S: Final = 60.0
_READ_S: Final = 86_400.0
_CLIENT: Final = "connect-backfill-missing"
_ROWS: Final = 1000


class _Newest(NamedTuple):
    """Describes the newest record of a key, as far as the topic was read."""

    is_gone: bool
    offset: int


def delete_missing(driver: Driver) -> Mapping[str, int]:
    """Write a tombstone for each key that is gone; return how many by topic. Call it only after a good verdict.

    A topic that the job wrote nothing to is left as it is: a source that gave no row at all may be the wrong one.
    """
    deadline = Deadline.after(_KAFKA_S)
    job = driver.store.jobs(deadline).jobs.get(driver.spec.name)
    if job is None:
        raise ConnectError(f"There is no backfill {driver.spec.name}.", fix="Run it first.")
    states = chunk_states(driver.store.all_markers(deadline))
    topics = sorted({topic for state in states.values() for topic in state.topics})
    worker = driver.settings.worker
    admin = TopicAdmin(admin_settings(worker, {}, _CLIENT).properties)
    counts = admin.partition_counts(topics, deadline)
    places = [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]
    ends = admin.end_offsets(places, deadline, committed_only=True)
    begins = admin.beginning_offsets(places, deadline)
    reading = consumer_settings(worker, {}, client_id=_CLIENT).properties
    written = dict.fromkeys(topics, 0)
    producer = BatchProducer(producer_settings(worker, {}, client_id=_CLIENT).properties)
    try:
        with closing(FoundRows(driver.settings.open())) as rows:
            for place in places:
                span = OffsetRange(begins[place], ends[place])
                gone = _gone(reading, place, span, driver.spec.name, job.created_ms)
                for keys in _some(_keys(reading, place, span, gone)):
                    written[place.topic] += _delete(place, keys, rows, producer, job.created_ms)
    finally:
        producer.close()
    return written


def _delete(place: TopicPartition, keys: Sequence[bytes], rows: FoundRows, producer: BatchProducer, at_ms: int) -> int:
    """Write tombstones for keys that the source lacks. Return how many of these keys stay deleted.

    The tombstones' time is `at_ms`, when the job began: all of their keys' records are older, and a row that comes back
    in the meantime is newer, by which a sink may tell.
    """
    there = {key for raw in rows.records(place.topic, keys) for key in _keys_of(raw)}
    gone = [key for key in keys if key not in there]
    if not gone:
        return 0
    nothing = pa.nulls(len(gone), pa.binary())
    tombstones = RawBatch(
        place.topic, nothing, keys=pa.array(gone, pa.binary()), partition=place.partition,
        timestamps_ms=pa.array([at_ms] * len(gone), pa.int64()),
    )  # fmt: skip
    _send(producer, [tombstones])
    back = [replace(raw, partition=place.partition) for raw in rows.records(place.topic, gone)]
    _send(producer, back)
    return len(gone) - len({key for raw in back for key in _keys_of(raw)})


def _keys_of(raw: RawBatch) -> list[bytes]:
    return [] if raw.keys is None else raw.keys.to_pylist()


def _send(producer: BatchProducer, batches: Sequence[RawBatch]) -> None:
    """Write records, and wait until they are in Kafka."""
    for batch in batches:
        producer.send(batch, Deadline.after(_KAFKA_S))
    producer.flush(Deadline.after(_KAFKA_S))


def _gone(reading: Settings, place: TopicPartition, span: OffsetRange, job: str, created_ms: int) -> set[int]:
    """Return the offsets of the newest records of keys that are gone. It takes 100 bytes of memory per key."""
    newest: dict[bytes, _Newest] = {}
    for raw in read_spans(reading, {place: span}, Deadline.after(_READ_S)):
        assert raw.keys is not None or not len(raw)
        assert raw.offsets is not None
        times = [None] * len(raw) if raw.timestamps_ms is None else raw.timestamps_ms.to_pylist()
        keys = [] if raw.keys is None else raw.keys.to_pylist()
        for row, (key, offset) in enumerate(zip(keys, raw.offsets.to_pylist(), strict=True)):
            if key is not None:
                is_gone = raw.values[row].is_valid and not _is_new(raw, row, times[row], job, created_ms)
                newest[blake2b(key, digest_size=16).digest()] = _Newest(is_gone, offset)
    return {found.offset for found in newest.values() if found.is_gone}


def _is_new(raw: RawBatch, row: int, at_ms: int | None, job: str, created_ms: int) -> bool:
    """Return True if a record is the job's, or was written since the job began."""
    own = dict(raw.headers[row]) if raw.headers is not None else {}
    return own.get(HEADER_JOB) == job.encode() or (at_ms is not None and at_ms >= created_ms)


def _keys(reading: Settings, place: TopicPartition, span: OffsetRange, offsets: set[int]) -> Iterator[bytes]:
    """Yield the keys of the records at these offsets. They are read a second time, as they were too many to keep."""
    if not offsets:
        return
    wanted: Callable[[int], bool] = offsets.__contains__
    for raw in read_spans(reading, {place: span}, Deadline.after(_READ_S)):
        assert raw.offsets is not None
        for row, offset in enumerate(raw.offsets.to_pylist()):
            if wanted(offset) and raw.keys is not None:
                yield raw.keys[row].as_py()


def _some(keys: Iterator[bytes]) -> Iterator[list[bytes]]:
    while some := list(islice(keys, _ROWS)):
        yield some
