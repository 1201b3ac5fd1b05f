"""Judges the topics that hold the cluster's own state: are they there, compacted, and of the right size?"""

from __future__ import annotations

from collections.abc import Iterable

from connect.cluster.model.cluster_topics import internal_topics
from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import topic_config_line
from connect.kafka.admin.cluster_state import TopicState
from connect.kafka.admin.topic_specs import InternalTopic


class InternalTopics:
    """Judges config, offset, status and slots topics."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield the settings of topics that would lose state or keep a worker from starting."""
        if facts.kafka.trouble is not None:
            return
        for topic in internal_topics(facts.worker):
            found = facts.kafka.topics.get(topic.spec.name)
            if found is not None:
                yield from _as_it_is(facts, topic, found)
            elif topic.spec.name not in facts.kafka.denied:
                yield from _missing(facts, topic)


def _missing(facts: Facts, topic: InternalTopic) -> Iterable[Finding]:
    name, replicas, brokers = topic.spec.name, topic.spec.replication_factor, facts.kafka.brokers
    subject = f"topic {name}"
    if facts.is_running or not facts.worker.internal_topics_automatic_creation_enable:
        yield Finding(
            "internal-topic-missing", Severity.ERROR,
            subject, f"The topic that holds {topic.purpose} ({topic.key}) is not there.",
            "No worker starts without it, and a running one cannot store anything more.",
            f"kafka-topics.sh --bootstrap-server {','.join(facts.worker.bootstrap_servers)} --create --topic {name} "
            f"--partitions {topic.spec.partitions} --config cleanup.policy=compact",
        )  # fmt: skip
    elif replicas > brokers:
        key = topic.factor_key or f"{topic.key.removesuffix('.topic')}.replication.factor"
        key = "config.storage.replication.factor" if topic.key == "group.id" else key
        yield Finding(
            "too-few-brokers", Severity.ERROR,
            subject, f"It has to be made with {replicas} replicas; the cluster has {brokers} brokers.",
            "The worker will not start.", f"{key}={brokers}",
        )  # fmt: skip
    elif name in facts.kafka.creation_refused:
        yield Finding(
            "internal-topic-refused", Severity.ERROR,
            subject, f"The brokers would not make the topic that holds {topic.purpose} ({topic.key}): "
            f"{facts.kafka.creation_refused[name]}",
            "The worker will not start.",
            f"# mend {topic.key} or the {topic.key.removesuffix('topic')}* keys beside it, or make the topic by hand",
        )  # fmt: skip


def _as_it_is(facts: Facts, topic: InternalTopic, found: TopicState) -> Iterable[Finding]:
    subject = f"topic {topic.spec.name}"
    policy = found.configs.get("cleanup.policy", "compact")
    if policy != "compact":
        yield Finding(
            "internal-topic-not-compacted", Severity.ERROR,
            subject, f"cleanup.policy={policy}, and it holds {topic.purpose}.",
            "Kafka will delete records that the cluster still needs; no worker starts with it.",
            topic_config_line(facts, topic.spec.name, "cleanup.policy=compact"),
        )  # fmt: skip
    if topic.single_partition and len(found.partitions) != 1:
        yield Finding(
            "config-topic-partitions", Severity.ERROR,
            subject, f"It has {len(found.partitions)} partitions instead of one.",
            "Workers would read configurations in different orders; no worker starts with it.",
            f"{topic.key}={topic.spec.name}-2  # a new topic, which the worker makes with one partition",
        )  # fmt: skip
    replicas, asked = found.replication_factor, topic.spec.replication_factor
    if 1 < replicas < asked <= facts.kafka.brokers:
        yield Finding(
            "fewer-replicas", Severity.WARNING,
            subject, f"It has {replicas} replicas; {asked} are asked for, and the cluster has {facts.kafka.brokers} "
            "brokers.", "The cluster's state is lost with fewer brokers than the other topics survive.",
            f"kafka-reassign-partitions.sh --bootstrap-server {','.join(facts.worker.bootstrap_servers)} --execute "
            f"--reassignment-json-file more-replicas.json  # lists partitions of {topic.spec.name} with {asked} each",
        )  # fmt: skip
    wanted = topic.spec.partitions
    if "partitions" in topic.explicit and not topic.single_partition and len(found.partitions) < wanted:
        yield Finding(
            "internal-topic-partitions", Severity.ERROR,
            subject, f"It has {len(found.partitions)} partitions, and the worker's file asks for "
            f"{wanted}.", "No worker starts with it.",
            f"{'slots' if topic.key == 'group.id' else topic.key.removesuffix('topic') + 'partitions'}"
            f"={len(found.partitions)}",
        )  # fmt: skip
