"""Tombstones for keys that a topic has and its source has no more, once every row was read and found.

A key counts as gone when its newest record has a value, was written before the job began and is none of the job's: the
job wrote one for each row that the source had. A key that changed since, through whatever else writes to the topic, has
a newer record and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

import pyarrow as pa

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.driver import Driver
from connect.backfill.markers import HEADER_JOB, chunk_states
from connect.kafka.log_reader import Settings, Span, read_spans
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.kafka.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.topics import TopicAdmin

_KAFKA_S: Final = 60.0
_READ_S: Final = 86_400.0
_CLIENT: Final = "connect-backfill-missing"
_ROWS: Final = 1000


class _Newest(NamedTuple):
    """The newest record of a key, as far as it was read."""

    is_gone: bool
    offset: int


def delete_missing(driver: Driver) -> Mapping[str, int]:
    """Write a tombstone for each key that is gone; how many, by topic. Run it behind a good verdict alone.

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
        for place in places:
            span = Span(begins[place], ends[place])
            keys = _gone(reading, place, span, driver.spec.name, job.created_ms)
            for tombstones in _tombstones(place, _keys(reading, place, span, keys)):
                producer.send(tombstones, Deadline.after(_KAFKA_S))
                written[place.topic] += len(tombstones)
        producer.flush(Deadline.after(_KAFKA_S))
        producer.check()
    finally:
        producer.close()
    return written


def _gone(reading: Settings, place: TopicPartition, span: Span, job: str, created_ms: int) -> set[int]:
    """The offsets of the newest records of keys that are gone. 100 bytes of memory per key of a partition."""
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
    """A record of the job, or of somebody who wrote since it began."""
    own = dict(raw.headers[row]) if raw.headers is not None else {}
    return own.get(HEADER_JOB) == job.encode() or (at_ms is not None and at_ms >= created_ms)


def _keys(reading: Settings, place: TopicPartition, span: Span, offsets: set[int]) -> Iterator[bytes]:
    """Their keys, read a second time: they were too many to keep."""
    if not offsets:
        return
    wanted: Callable[[int], bool] = offsets.__contains__
    for raw in read_spans(reading, {place: span}, Deadline.after(_READ_S)):
        assert raw.offsets is not None
        for row, offset in enumerate(raw.offsets.to_pylist()):
            if wanted(offset) and raw.keys is not None:
                yield raw.keys[row].as_py()


def _tombstones(place: TopicPartition, keys: Iterator[bytes]) -> Iterator[RawBatch]:
    waiting: list[bytes] = []
    for key in keys:
        waiting.append(key)
        if len(waiting) == _ROWS:
            yield _batch(place, waiting)
            waiting = []
    if waiting:
        yield _batch(place, waiting)


def _batch(place: TopicPartition, keys: list[bytes]) -> RawBatch:
    nothing = pa.nulls(len(keys), pa.binary())
    return RawBatch(place.topic, nothing, keys=pa.array(keys, pa.binary()), partition=place.partition)
