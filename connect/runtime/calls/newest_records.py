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
    """Return the offset ranges of the newest `records` records, as many of each partition that has some. Pure."""
    filled = [place for place, end in ends.items() if end > beginnings.get(place, 0)]
    share = -(-records // max(1, len(filled)))
    return {place: OffsetRange(max(beginnings.get(place, 0), ends[place] - share), ends[place]) for place in filled}


def newest_records(
    clients: Clients, resolved: Mapping[str, str], records: int, deadline: Deadline
) -> Iterator[RawBatch]:
    """Yield about so many of the newest records, as many of each partition; none where all topics are empty.

    `resolved`: a sink's configuration. ConnectError: a topic that it names is not there.
    """
    admin = group_admin(clients, resolved)
    topics = wanted_topics(resolved, admin.topics(deadline))
    counts = admin.partition_counts(topics, deadline)
    missing = sorted(set(topics) - set(counts))
    if missing:
        raise ConnectError(f"Kafka has no topic {', '.join(missing)}.", key="topics")
    partitions = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    ends = admin.end_offsets(partitions, deadline, committed_only=True)
    spans = newest_spans(admin.beginning_offsets(partitions, deadline), ends, records)
    given = {k.removeprefix(_OVERRIDE): v for k, v in resolved.items() if k.startswith(_OVERRIDE)}
    client_id = f"{clients.worker.client_prefix}-sample"
    reading = dict(consumer_settings(clients.worker_properties, given, client_id=client_id).properties)
    reading.pop("consumer.path", None)
    yield from read_spans(reading, spans, deadline)
