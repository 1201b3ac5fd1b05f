"""Judges what the brokers let this principal do, and writes down the grants that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from connect.cluster.model.cluster_topics import internal_topics
from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import DLQ_TOPIC, acl_line, cluster_acl_line


class Rights:
    """Judges the topics and groups that the worker and its connectors need."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield each topic and group with the operations that are denied."""
        for name, operations in _needed(facts).items():
            yield from _topic(facts, name, sorted(operations))
        for name in sorted(facts.kafka.configs_denied):
            yield Finding(
                "topic-configs-denied", Severity.NOTE, f"topic {name}", "Its configs may not be read.",
                "Whether it is compacted, and how large records may be, cannot be judged.",
                acl_line(facts, ["DescribeConfigs"], "topic", name),
            )  # fmt: skip
        if facts.kafka.broker_denied:
            yield Finding(
                "broker-configs-denied", Severity.NOTE, "Kafka", "The configs of brokers may not be read.",
                "How large a request they take, and how long they keep a group's place, cannot be judged.",
                cluster_acl_line(facts, "DescribeConfigs"),
            )  # fmt: skip
        for name in sorted(facts.kafka.groups_denied):
            yield Finding(
                "group-denied", Severity.ERROR, f"group {name}", "The brokers deny this principal READ on the group.",
                "Whoever needs the group cannot join it.", acl_line(facts, ["Read"], "group", name),
            )  # fmt: skip


def _needed(facts: Facts) -> dict[str, set[str]]:
    needed: dict[str, set[str]] = {topic.spec.name: {"READ", "WRITE"} for topic in internal_topics(facts.worker)}
    for connector in facts.connectors:
        if not any(".override.sasl." in key for key in connector.config):  # such a connector has another principal
            for topic in connector.topics:
                needed.setdefault(topic, set()).add("READ" if connector.is_sink else "WRITE")
            if connector.is_sink and connector.config.get(DLQ_TOPIC):
                needed.setdefault(connector.config[DLQ_TOPIC], set()).add("WRITE")
    return needed


def _topic(facts: Facts, name: str, needed: list[str]) -> Iterator[Finding]:
    topic = facts.kafka.topics.get(name)
    if name in facts.kafka.denied:
        missing = needed
    elif topic is not None and topic.rights is not None:
        missing = [operation for operation in needed if operation not in topic.rights]
    else:
        missing = []
    if name in facts.kafka.creation_denied:
        missing = ["CREATE", *missing]
    unseen = ", and do not say if it is there" if name in facts.kafka.denied else ""
    if missing:
        yield Finding(
            "topic-denied", Severity.ERROR,
            f"topic {name}", f"The brokers deny this principal {' and '.join(missing)} on the topic{unseen}.",
            "Whoever needs the topic fails at it.",
            acl_line(facts, [operation.capitalize() for operation in missing], "topic", name),
        )  # fmt: skip
