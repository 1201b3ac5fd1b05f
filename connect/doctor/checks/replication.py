"""Judges replicas, in-sync replicas and acknowledgements: does one broker's end stop writes, or lose records?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from connect.cluster.model.cluster_topics import internal_topics
from connect.doctor.model.facts import ConnectorFacts, Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import DLQ_TOPIC, number, topic_config_line, topics_in_use
from connect.kafka.admin.cluster_state import TopicState

_LETTERS_FACTOR: Final = "errors.deadletterqueue.topic.replication.factor"
_NEW_TOPICS_FACTOR: Final = re.compile(r"topic\.creation\.[^.]+\.replication\.factor")
_WEAK: Final = frozenset({"0", "1"})
_LETTERS_REPLICAS: Final = 3
"""A dead-letter topic gets this many replicas unless its connector says otherwise."""


class Replication:
    """Judges the cluster's own topics and those of connectors."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield topics that stop or lose records when one broker ends, and producers that do not wait for replicas."""
        own = [topic.spec.name for topic in internal_topics(facts.worker)]
        for name in dict.fromkeys([*own, *sorted(topics_in_use(facts))]):
            found = facts.kafka.topics.get(name)
            if found is not None and found.partitions:
                yield from _of_topic(facts, name, found)
        own_acks = facts.worker.originals.get("producer.acks", "all")
        if own_acks in _WEAK:
            yield _weak_acks("worker file", own_acks, "producer.acks=all")
        for connector in facts.connectors:
            yield from _of_new_topics(facts, connector)
            yield from _of_letters(facts, connector)
            acks = connector.config.get("producer.override.acks", "all")
            if not connector.is_sink and acks in _WEAK:
                yield _weak_acks(f"connector {connector.name}", acks, '"producer.override.acks": "all"')


def _weak_acks(subject: str, acks: str, fix: str) -> Finding:
    return Finding(
        "weak-acks", Severity.WARNING, subject, f"It writes with acks={acks}.",
        "A record counts as written before other brokers have it, and is lost with its leader.", fix,
    )  # fmt: skip


def _of_new_topics(facts: Facts, connector: ConnectorFacts) -> Iterable[Finding]:
    brokers = facts.kafka.brokers
    for key, value in connector.config.items() if facts.worker.topic_creation_enable else ():
        replicas = number(value) if _NEW_TOPICS_FACTOR.fullmatch(key) else None
        if replicas is not None and not connector.is_sink and 0 < brokers < replicas:
            yield Finding(
                "topics-unwritable", Severity.ERROR, f"connector {connector.name}",
                f"Topics that it makes take {replicas} replicas ({key}); brokers: {brokers}.",
                "Its tasks fail at the first topic that is not there yet.", f'"{key}": "{brokers}"',
            )  # fmt: skip


def _of_letters(facts: Facts, connector: ConnectorFacts) -> Iterable[Finding]:
    name, brokers = connector.config.get(DLQ_TOPIC, ""), facts.kafka.brokers
    replicas = number(connector.config.get(_LETTERS_FACTOR)) or _LETTERS_REPLICAS
    is_missing = name and facts.kafka.trouble is None and name not in {*facts.kafka.topics, *facts.kafka.denied}
    if is_missing and 0 < brokers < replicas:
        yield Finding(
            "letters-unwritable", Severity.ERROR, f"connector {connector.name}",
            f"Its dead-letter topic {name} is not there, and takes {replicas} replicas; brokers: {brokers}.",
            "Its tasks fail as they start.", f'"{_LETTERS_FACTOR}": "{brokers}"',
        )  # fmt: skip


def _of_topic(facts: Facts, name: str, topic: TopicState) -> Iterable[Finding]:
    replicas, least = topic.replication_factor, number(topic.configs.get("min.insync.replicas"))
    subject = f"topic {name}"
    if replicas == 1 and facts.kafka.brokers > 1:
        yield Finding(
            "single-replica", Severity.WARNING, subject, f"It has one replica on {facts.kafka.brokers} brokers.",
            "While that broker is away nothing is read or written, and its disk is the only copy.",
            f"kafka-reassign-partitions.sh --bootstrap-server {','.join(facts.worker.bootstrap_servers)} --execute "
            f"--reassignment-json-file more-replicas.json  # lists partitions of {name} with several replicas each",
        )  # fmt: skip
    if topic.configs.get("unclean.leader.election.enable") == "true":
        yield Finding(
            "unclean-leader-election", Severity.WARNING, subject, "unclean.leader.election.enable=true.",
            "A replica that missed records may become the leader: they are lost, though they were acknowledged.",
            topic_config_line(facts, name, "unclean.leader.election.enable=false"),
        )  # fmt: skip
    if least is None:
        return
    in_sync = min(part.in_sync for part in topic.partitions)
    line = topic_config_line(facts, name, f"min.insync.replicas={max(1, replicas - 1)}")
    if in_sync < least:
        yield Finding(
            "below-min-isr", Severity.ERROR,
            subject, f"min.insync.replicas={least}, and {in_sync} of {replicas} replicas are in sync.",
            "The brokers refuse every write that asks for all acknowledgements.", line,
        )  # fmt: skip
    elif 1 < least == replicas:
        yield Finding(
            "min-isr-equals-replicas", Severity.WARNING,
            subject, f"min.insync.replicas={least} is the number of its replicas.",
            "One broker that is away, as at an upgrade, stops all writes.", line,
        )  # fmt: skip
