"""Reads records between given offsets, without a group: nothing is committed, and no group changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import is_of_unjoined_group, is_retriable, translate, translated
from connect.kafka.client.rights import Needs
from connect.kafka.consume.columns import polled_batches
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]
_WAIT_S: Final = 0.1
_FETCH_MS: Final = 20
"""A broker without more records answers a fetch after so many milliseconds (by default 500).

Behind a transaction marker only this answer tells that the end is reached.
"""
_SLICE: Final = 2000


class OffsetRange(NamedTuple):
    """Holds a range of a partition's offsets: start..end-1."""

    start: int
    end: int


def read_spans(
    settings: Settings, spans: Mapping[TopicPartition, OffsetRange], deadline: Deadline
) -> Iterator[RawBatch]:
    """Yield the records of each span that still exist, in offset order per partition.

    Raise RetriableError when the deadline passes before the ends are reached.
    """
    left = {tp: span for tp, span in spans.items() if span.start < span.end}
    if not left:
        return
    # Transaction markers are no records, so only this event tells that no more records come before an end.
    own = {
        **settings, "enable.auto.commit": False, "auto.offset.reset": "earliest", "enable.partition.eof": True,
        "fetch.wait.max.ms": _FETCH_MS,
    }  # fmt: skip
    needs = Needs.of(settings, "Read", {tp.topic for tp in left})
    with translated("making a consumer"):
        consumer = Consumer(own, logger=client_logger("log_reader"))
    try:
        consumer.assign([KafkaPartition(*tp, span.start) for tp, span in left.items()])
        while left:
            if deadline.expired:
                raise RetriableError(f"{_names(left)} were not read to their ends in time.")
            with translated(f"reading {_names(left)}", needs):
                messages = list(consumer.consume(_SLICE, min(_WAIT_S, deadline.remaining_s)))
            yield from _inside(messages, left, needs)
    finally:
        consumer.close()


def read_record(settings: Settings, place: TopicPartition, offset: int, deadline: Deadline) -> RawBatch:
    """Return one record. Raise ConnectError if the log no longer holds it."""
    for batch in read_spans(settings, {place: OffsetRange(offset, offset + 1)}, deadline):
        return batch
    raise ConnectError(
        f"The record at {place.topic}-{place.partition}@{offset} is no longer in the log.",
        fix="Give the topic a longer retention.",
    )


def _inside(messages: list[Message], left: dict[TopicPartition, OffsetRange], needs: Needs) -> list[RawBatch]:
    """Return the records inside the spans, and remove partitions that reached their end from `left`."""
    taken = polled_batches(messages)
    for error in (failed.error for failed in taken.errors):
        if not (is_retriable(error) or is_of_unjoined_group(error)):
            raise translate(error, f"reading {_names(left)}", needs)
    kept = []
    for batch in taken.batches:
        tp = TopicPartition(batch.topic, batch.partition or 0)
        span = left.get(tp)
        if span is None or batch.offsets is None or batch.next_offset is None:
            continue
        offsets = batch.offsets.to_pylist()
        # A log that ends before the span, as one that was made anew, is read from its first record on.
        first, stop = bisect_left(offsets, span.start), bisect_left(offsets, span.end)
        if first < stop:
            kept.append(batch.slice(first, stop))
        if batch.next_offset >= span.end:
            del left[tp]
    for tp in taken.ends.keys() & left.keys():
        del left[tp]
    return kept


def _names(left: Mapping[TopicPartition, OffsetRange]) -> str:
    return ", ".join(f"{tp.topic}-{tp.partition} up to offset {span.end}" for tp, span in sorted(left.items())[:5])
