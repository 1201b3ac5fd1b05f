"""Judges a worker's own topics, and says in Kafka Connect's words what is wrong with one. Pure."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConfigError, ConnectError
from connect.kafka.admin.topic_descriptions import TopicDescription
from connect.kafka.admin.topic_specs import InternalTopic


def missing(topic: InternalTopic) -> ConfigError:
    """Return the error for a topic that does not exist and may not be made."""
    spec = topic.spec
    return ConfigError(
        f"Topic '{spec.name}' for {topic.purpose}, named by '{topic.key}', does not exist, and "
        "internal.topics.automatic.creation.enable=false.",
        key=topic.key,
        fix=f"Create it with {spec.partitions} partitions and cleanup.policy=compact, or let the worker do it.",
    )


def check_policy(topic: InternalTopic, policy: str) -> None:
    """Raise ConfigError unless the topic's cleanup.policy is compaction alone."""
    if {part.strip() for part in policy.split(",") if part.strip()} != {"compact"}:
        raise ConfigError(_wrong_policy(topic, policy), key=topic.key)


def check_size(topic: InternalTopic, found: TopicDescription) -> None:
    """Raise ConfigError if the topic has fewer partitions or replicas than are asked for, or several partitions where
    one is needed.

    More slots than are asked for are fine: partitions may be added while workers run, which must be able to start again
    before their files say the new number.
    """
    name, factor_key = topic.spec.name, _factor_key(topic)
    if "replicas" in topic.explicit and found.replication_factor < topic.spec.replication_factor:
        raise ConfigError(
            f"Topic '{name}' supplied via the '{topic.key}' property has a replication factor of "
            f"{found.replication_factor}, but {factor_key}={topic.spec.replication_factor} is asked for: "
            f"{topic.purpose} could be lost with a broker.",
            key=factor_key,
            fix="Give the topic more replicas (kafka-reassign-partitions.sh), or set "
            f"{factor_key}={found.replication_factor}.",
        )
    if "partitions" in topic.explicit and found.partitions < topic.spec.partitions:
        raise ConfigError(
            f"Topic '{name}' has {found.partitions} partitions, but slots={topic.spec.partitions} is asked for.",
            key="slots",
            fix=f"Set slots={found.partitions}, or give the topic more partitions (kafka-topics.sh --alter).",
        )
    if topic.single_partition and found.partitions > 1:
        raise ConfigError(
            f"Topic '{name}' supplied via the '{topic.key}' property is required to have a single partition in"
            f" order to guarantee consistency of {topic.purpose}, but found {found.partitions} partitions.",
            key=topic.key,
        )


def _factor_key(topic: InternalTopic) -> str:
    return topic.factor_key or f"{topic.key.removesuffix('.topic')}.replication.factor"


def not_created(topic: InternalTopic, error: ConnectError) -> ConfigError:
    """Return the error for a topic that the brokers refused to make."""
    spec = topic.spec
    factor_key = _factor_key(topic)
    if isinstance(error.__cause__, KafkaException) and (
        error.__cause__.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR
    ):
        return ConfigError(
            f"Topic '{spec.name}' supplied via the '{topic.key}' property could not be created with a replication"
            f" factor of {spec.replication_factor}: {error.__cause__.args[0].str()}",
            key=factor_key,
            fix=f"Set {factor_key} to at most the number of brokers, or to -1 for the broker's default.",
        )
    return ConfigError(
        f"Topic '{spec.name}' supplied via the '{topic.key}' property could not be created: {error}", key=topic.key
    )


def _wrong_policy(topic: InternalTopic, policy: str) -> str:
    """Return Kafka Connect 4.1's sentence (TopicAdmin.verifyTopicCleanupPolicyOnlyCompact): users search for it."""
    return (
        f"Topic '{topic.spec.name}' supplied via the '{topic.key}' property is required to have"
        f" 'cleanup.policy=compact' to guarantee consistency and durability of {topic.purpose}, but found the topic"
        f" currently has 'cleanup.policy={policy}'. Continuing would likely result in eventually losing"
        f" {topic.purpose} and problems restarting this Connect cluster in the future. Change the '{topic.key}'"
        f" property in the {topic.set_in} to use a topic with 'cleanup.policy=compact'."
    )
