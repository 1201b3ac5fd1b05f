"""Estimates how much comes into topics a day, from the offsets of two times and the sizes of the newest records.

Nothing is committed, and no consumer group changes.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import RetriableError
from connect.api.optional.costs import TopicRate
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

_DAY_S: Final = 86_400
_SPANS_S: Final = (_DAY_S, 21_600, 3_600, 600)
"""The longest of these times counts that is not longer than the time for which the topic has had records."""
_PARTITIONS_MOST: Final = 5
_RECORDS_MOST: Final = 200
"""At most so many records are read of each partition, and only of _PARTITIONS_MOST partitions of a topic."""
_READ_S: Final = 5.0
_TOPICS_MOST: Final = 50


def rates_now(worker: Mapping[str, str], topics: Collection[str], deadline: Deadline) -> dict[str, TopicRate]:
    """Return how much comes into topics now; see `sampled_rates`."""
    return sampled_rates(worker, topics, time.time_ns() // 1_000_000, deadline)


def sampled_rates(
    worker: Mapping[str, str], topics: Collection[str], now_ms: int, deadline: Deadline
) -> dict[str, TopicRate]:
    """Return how much comes into topics, by name. A topic that does not exist or is empty is left out.

    `worker` holds the worker's properties. At most 50 topics are sampled. Kafka's errors pass through.
    """
    admin = TopicAdmin(admin_settings(worker, {}, client_id="connect-topic-rates").properties)
    found = admin.describe(sorted(topics)[:_TOPICS_MOST], deadline)
    partitions = [TopicPartition(one.name, number) for one in found.values() for number in range(one.partitions)]
    begins, ends = admin.beginning_offsets(partitions, deadline), admin.end_offsets(partitions, deadline)
    rows: dict[str, tuple[int, int]] = {}
    for span_s in _SPANS_S:
        left = [tp for tp in partitions if tp.topic not in rows and begins[tp] < ends[tp]]
        since = admin.offsets_at(left, now_ms - span_s * 1000, deadline)
        for topic in {tp.topic for tp in left}:
            own = [tp for tp in left if tp.topic == topic]
            is_older = any(since.get(tp, ends[tp]) > begins[tp] for tp in own)
            if is_older or span_s == _SPANS_S[-1]:
                rows[topic] = span_s, sum(ends[tp] - since.get(tp, ends[tp]) for tp in own)
    settings = dict(consumer_settings(worker, {}, client_id="connect-topic-rates").properties)
    settings.pop("consumer.path", None)
    return {
        topic: _rate(settings, count, span_s, {tp: (begins[tp], ends[tp]) for tp in partitions if tp.topic == topic},
                     deadline)
        for topic, (span_s, count) in rows.items()
    }  # fmt: skip


def _rate(
    settings: Mapping[str, str | int | float | bool], count: int, span_s: int,
    ranges: Mapping[TopicPartition, tuple[int, int]], deadline: Deadline,
) -> TopicRate:  # fmt: skip
    fullest = heapq.nlargest(_PARTITIONS_MOST, ranges, key=lambda tp: ranges[tp][1] - ranges[tp][0])
    spans = {tp: OffsetRange(max(ranges[tp][0], ranges[tp][1] - _RECORDS_MOST), ranges[tp][1]) for tp in fullest}
    batches: list[RawBatch] = []
    # The records read before the deadline are sample enough. If there are none, the size is unknown.
    with suppress(RetriableError):
        batches.extend(read_spans(settings, spans, deadline.sooner(_READ_S)))
    rows_per_day = round(count * _DAY_S / span_s)
    values = [batch.values.drop_null() for batch in batches]
    records, with_value = sum(map(len, batches)), sum(map(len, values))
    if not with_value:
        return TopicRate(rows_per_day, span_s)
    keys = [batch.keys for batch in batches if batch.keys is not None]
    size_bytes = sum(pc.sum(pc.binary_length(value)).as_py() or 0 for value in values)
    distinct = len(pa.chunked_array(keys, pa.binary()).unique().drop_null()) if keys else 0
    return TopicRate(
        rows_per_day, span_s, max(1, round(size_bytes / with_value)), records, distinct_keys=distinct
    )  # fmt: skip
