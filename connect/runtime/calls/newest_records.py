"""Reads the newest records of the topics that a sink reads: by assignment, without its group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.client.settings import consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import PatternTimeoutError
from connect.runtime.calls.group_calls import group_admin
from connect.runtime.parts.clients import Clients

_OVERRIDE = "consumer.override."
FURTHEST_OFFSETS = 10_000
"""Records are looked for at most so many offsets before the end of a partition."""


def wanted_topics(config: Mapping[str, str], known: Iterable[str]) -> list[str]:
    """Return the topics that a sink's configuration names, or those of the known ones that its topics.regex matches.

    Pure.
    """
    named = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
    pattern = config.get("topics.regex", "")
    if named or not pattern:
        return named
    try:
        expression = compile_pattern(pattern)
        return sorted(topic for topic in known if expression.fullmatch(topic))
    except JavaPatternError as error:
        raise ConnectError(f"topics.regex is no regular expression: {error}.", key="topics.regex") from error
    except PatternTimeoutError as error:
        raise ConnectError(str(error), key="topics.regex") from error


def newest_spans(
    beginnings: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], records: int
) -> dict[TopicPartition, OffsetRange]:
    """Return the offset ranges of the newest `records` records, shared evenly among partitions with records. Pure."""
    filled = [place for place, end in ends.items() if end > beginnings.get(place, 0)]
    share = -(-records // max(1, len(filled)))
    return {place: OffsetRange(max(beginnings.get(place, 0), ends[place] - share), ends[place]) for place in filled}


def earlier_spans(
    read: Mapping[TopicPartition, OffsetRange],
    beginnings: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, OffsetRange]:
    """Return the ranges before those that were read, four times as long, but not before FURTHEST_OFFSETS. Pure."""
    found = {}
    for place, (start, _) in read.items():
        first = max(beginnings.get(place, 0), ends[place] - FURTHEST_OFFSETS)
        if start > first:
            found[place] = OffsetRange(max(first, start - 4 * (ends[place] - start)), start)
    return found


def newest_records(
    clients: Clients, resolved: Mapping[str, str], records: int, deadline: Deadline
) -> Iterator[RawBatch]:
    """Yield about `records` of the newest records, as many of each partition; none where all topics are empty.

    Transaction markers and aborted records have offsets, too. Where they come last, older records are read.

    `resolved` is a sink's configuration. Raise ConnectError if a topic that it names does not exist.
    """
    admin = group_admin(clients, resolved)
    topics = wanted_topics(resolved, admin.topics(deadline))
    counts = admin.partition_counts(topics, deadline)
    missing = sorted(set(topics) - set(counts))
    if missing:
        raise ConnectError(f"Kafka has no topic {', '.join(missing)}.", key="topics")
    partitions = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    ends = admin.end_offsets(partitions, deadline, committed_only=True)
    beginnings = admin.beginning_offsets(partitions, deadline)
    given = {k.removeprefix(_OVERRIDE): v for k, v in resolved.items() if k.startswith(_OVERRIDE)}
    client_id = f"{clients.worker.client_prefix}-sample"
    reading = dict(consumer_settings(clients.worker_properties, given, client_id=client_id).properties)
    reading.pop("consumer.path", None)
    yield from read_newest(reading, beginnings, ends, records, deadline)


def read_newest(
    reading: Mapping[str, str | int | float | bool],
    beginnings: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    records: int,
    deadline: Deadline,
) -> Iterator[RawBatch]:
    spans = newest_spans(beginnings, ends, records)
    wanted = dict.fromkeys(spans, max((span.end - span.start for span in spans.values()), default=0))
    while spans:
        batches = list(read_spans(reading, spans, deadline))
        for batch in reversed(batches):
            place = TopicPartition(batch.topic, batch.partition or 0)
            if wanted[place]:
                newest = batch.slice(max(0, len(batch) - wanted[place]), len(batch))
                wanted[place] -= len(newest)
                yield newest
        spans = earlier_spans({place: span for place, span in spans.items() if wanted[place]}, beginnings, ends)
