"""Provides the records that a sink is tried with: those of the user's topics, of a source's run, or made ones.

The user's topics are read by assignment, without a group. Their records are copied into topics of the same names in the
sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.copies import write_records
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sandbox.topic_rows import ends_of
from connect.runtime.calls.newest_records import newest_spans, wanted_topics
from connect.runtime.parts.connector_settings import ConnectorSettings

LIMIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Records:
    """Describes records in the sandbox: the end offset of each partition, and in words where the records come from."""

    ends: Mapping[TopicPartition, int]
    origin: str

    @property
    def count(self) -> int:
        """Return the number of records."""
        return sum(self.ends.values())


def from_users_kafka(
    worker: Mapping[str, str], config: Mapping[str, str], records: int, into: Mapping[str, str]
) -> Records:
    """Copy the newest records of the user's topics into the Kafka that the settings `into` name.

    ConnectError: a topic is missing, or all are empty.
    """
    deadline = Deadline.after(LIMIT_S)
    admin = TopicAdmin(admin_settings(worker, {}, "connect-poc").properties)
    reading = dict(consumer_settings(worker, {}, client_id="connect-poc").properties)
    reading.pop("consumer.path", None)
    topics = wanted_topics(config, admin.topics(deadline))
    ends = ends_of(admin, topics, deadline)
    missing = sorted(set(topics) - {place.topic for place in ends})
    if missing or not ends:
        raise ConnectError(
            f"{worker['bootstrap.servers']} has no topic {', '.join(missing) or config.get('topics.regex', '')}.",
            key="topics",
        )
    spans = newest_spans(admin.beginning_offsets(list(ends), deadline), ends, records)
    if not spans:
        raise ConnectError(f"The topics {', '.join(topics)} have no record.", key="topics")
    found = write_records(into, read_spans(reading, spans, deadline), _partitions(ends), deadline)
    return Records(found, f"newest records of {', '.join(topics)} at {worker['bootstrap.servers']}")


def from_run(sandbox: Sandbox, ends: Mapping[TopicPartition, int], prefix: str, topics: Iterable[str]) -> Records:
    """Copy what a source's run wrote into topics without the run's prefix. ConnectError: the sink reads none of its
    topics.
    """
    deadline = Deadline.after(LIMIT_S)
    wanted = set(topics)
    own = {place: end for place, end in ends.items() if place.topic.removeprefix(prefix) in wanted}
    if not own:
        there = ", ".join(sorted({place.topic.removeprefix(prefix) for place in ends})) or "none"
        raise ConnectError(f"The source writes to {there}; the sink reads {', '.join(sorted(wanted))}.", key="topics")
    spans = {place: OffsetRange(0, end) for place, end in own.items()}
    renamed = (
        replace(raw, topic=raw.topic.removeprefix(prefix)) for raw in read_spans(sandbox.reading, spans, deadline)
    )
    counts = {topic.removeprefix(prefix): count for topic, count in _partitions(own).items()}
    return Records(write_records(sandbox.worker_properties, renamed, counts, deadline), "what the source wrote")


def made(settings: ConnectorSettings, records: int) -> Records:
    """Make records for every topic that the sink names. ConnectError: it names none, or its converters fail."""
    topics = wanted_topics(settings.connector, ())
    if not topics:
        raise ConnectError("The sink names no topic to make records for.", key="topics")
    answer = asked_of(settings, "write_made", LIMIT_S, topics=topics, records=-(-records // len(topics)))
    reason = reason_of(answer)
    if reason is not None:
        raise ConnectError(f"No records could be made: {reason}")
    ends = {TopicPartition(topic, number): end for topic, number, end in answer["ends"]}
    return Records(ends, "records made for this evaluation")


def _partitions(ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for place in ends:
        counts[place.topic] = max(counts.get(place.topic, 0), place.partition + 1)
    return counts
