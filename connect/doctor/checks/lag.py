"""Judges sinks by their unread records: if these are deleted or soon will be, and if every task has some to read."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

from connect.api.records import TopicPartition
from connect.doctor.model.facts import ConnectorFacts, Facts, GroupFacts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, partitions_line, topic_config_line

_GROUP: Final = "consumer.override.group.id"
_OLDEST: Final = 0.2
"""A topic with a bounded size deletes its oldest records first. Records in this oldest part of it are in danger."""


class Lag:
    """Judges each sink by the state of its topics and its consumer group."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield records that are lost or in danger, and tasks that have nothing to do."""
        yield from _shared_groups(facts)
        for connector in facts.connectors:
            if connector.is_sink and facts.kafka.trouble is None:
                yield from _missed(facts, connector)
                yield from _topics(facts, connector)
                if connector.group is not None:
                    yield from _unread(facts, connector, connector.group)


def _missed(facts: Facts, connector: ConnectorFacts) -> Iterable[Finding]:
    for text in connector.missed:
        yield Finding(
            "rows-missed", Severity.ERROR, f"connector {connector.name}", text,
            "These rows are not in the target, and gone from Kafka.",
            "\n".join(_longer(facts, topic) for topic in connector.topics if topic in facts.kafka.topics)
            + "\n# then load what is missing from its origin, as by connect backfill",
        )  # fmt: skip


def _shared_groups(facts: Facts) -> Iterable[Finding]:
    """Yield a finding for each topic that two sinks read as one group, for each of the sinks."""
    readers: dict[tuple[str, str], list[ConnectorFacts]] = {}
    for connector in facts.connectors:
        if connector.group is not None:
            for topic in connector.topics:
                readers.setdefault((connector.group.name, topic), []).append(connector)
    for (group, topic), sinks in readers.items():
        names = [sink.name for sink in sinks]
        for name in [sink.name for sink in sinks if _GROUP in sink.config] if len(names) > 1 else ():
            yield Finding(
                "group-shared", Severity.ERROR, f"connector {name}",
                f"Group {group} reads topic {topic} for {' and '.join(names)}.",
                "Each record reaches one of them alone: the other targets lack it.",
                f'"{_GROUP}": "connect-{name}"',
            )  # fmt: skip


def _topics(facts: Facts, connector: ConnectorFacts) -> Iterable[Finding]:
    subject = f"connector {connector.name}"
    known = {name: facts.kafka.topics[name] for name in connector.topics if name in facts.kafka.topics}
    for name in connector.topics:
        if name not in known and name not in facts.kafka.denied:
            yield Finding(
                "topic-missing", Severity.WARNING, subject, f"It reads topic {name}, which is not there.",
                "The sink waits until somebody makes it; is its name right?",
                f"kafka-topics.sh --bootstrap-server {','.join(facts.worker.bootstrap_servers)} --create --topic "
                f"{quote(name)}",
            )  # fmt: skip
    tasks = number(connector.config.get("tasks.max")) or 1
    partitions = sum(len(topic.partitions) for topic in known.values())
    if known and partitions < tasks:
        widest = max(known, key=lambda name: len(known[name].partitions))
        more = len(known[widest].partitions) + tasks - partitions
        yield Finding(
            "idle-tasks", Severity.WARNING, subject, f"tasks.max={tasks}, and its topics have {partitions} partitions.",
            "A partition is read by one task: the others have nothing to do.",
            f'"tasks.max": "{partitions}"\n# or, where the order of keys may change once:\n'
            + partitions_line(facts, widest, more),
        )  # fmt: skip


def _unread(facts: Facts, connector: ConnectorFacts, group: GroupFacts) -> Iterable[Finding]:
    subject = f"connector {connector.name}"
    lost, aged, oldest = dict[str, int](), dict[str, int](), dict[str, int]()
    for tp, next_offset in group.committed.items():
        gone = group.beginnings.get(tp, 0) - next_offset
        old = group.aged.get(tp, 0) - next_offset
        if gone > 0:
            lost[tp.topic] = lost.get(tp.topic, 0) + gone
        elif old > 0:
            aged[tp.topic] = aged.get(tp.topic, 0) + old
        elif (among_oldest := _among_oldest(facts, group, tp) - next_offset) > 0:
            oldest[tp.topic] = oldest.get(tp.topic, 0) + among_oldest
    for topic, count in lost.items():
        yield Finding(
            "records-deleted-unread", Severity.ERROR,
            subject, f"{count} offsets of topic {topic} were deleted before group {group.name} read "
            "them.", "These records never reach the target.", _longer(facts, topic),
        )  # fmt: skip
    for topic, count in aged.items():
        yield Finding(
            "records-deleted-soon", Severity.WARNING,
            subject, f"{count} offsets of topic {topic} that group {group.name} has yet to read are "
            "older than 80 % of its retention.ms.",
            "Kafka deletes them soon, read or not.", _longer(facts, topic),
        )  # fmt: skip
    for topic, count in oldest.items():
        yield Finding(
            "records-deleted-soon", Severity.WARNING,
            subject, f"{count} offsets of topic {topic} that group {group.name} has yet to read are in the oldest "
            "fifth of a partition that is bounded by retention.bytes and has deleted records before.",
            "Kafka deletes them when as many bytes have come, read or not.", _larger(facts, topic),
        )  # fmt: skip
    uncommitted = {tp.topic for tp, end in group.ends.items() if end > group.beginnings.get(tp, 0)}
    uncommitted -= {tp.topic for tp in group.committed}
    for topic in sorted(uncommitted):
        yield Finding(
            "nothing-committed", Severity.NOTE,
            subject, f"Group {group.name} has committed nothing on topic {topic}, which has records.",
            "Nothing of it has been delivered yet: the sink is new, stopped, or does not get on.",
            f"connect connectors why {quote(connector.name)}",
        )  # fmt: skip


def _longer(facts: Facts, topic: str) -> str:
    now = number(facts.kafka.topics[topic].configs.get("retention.ms")) if topic in facts.kafka.topics else None
    return topic_config_line(facts, topic, f"retention.ms={2 * now if now and now > 0 else 1_209_600_000}")


def _larger(facts: Facts, topic: str) -> str:
    return topic_config_line(facts, topic, f"retention.bytes={2 * _retention_bytes(facts, topic)}")


def _retention_bytes(facts: Facts, topic: str) -> int:
    """Return the size in bytes to which a partition may grow; 0 if it has no limit."""
    configs = facts.kafka.topics[topic].configs if topic in facts.kafka.topics else {}
    return max(0, number(configs.get("retention.bytes")) or 0) if "delete" in configs.get("cleanup.policy", "") else 0


def _among_oldest(facts: Facts, group: GroupFacts, tp: TopicPartition) -> int:
    """Return the first offset that is not in the oldest part of a partition that may have its full size."""
    first, end, most_bytes = group.beginnings.get(tp, 0), group.ends.get(tp, 0), _retention_bytes(facts, tp.topic)
    if not most_bytes or not first:
        return first
    # A client cannot ask how large a partition is. If its records would not fill it even at their largest size, it has
    # deleted records for another reason.
    record_bytes = number(facts.kafka.topics[tp.topic].configs.get("max.message.bytes")) or 0
    return first + int(_OLDEST * (end - first)) if record_bytes * (end - first) >= most_bytes else first
