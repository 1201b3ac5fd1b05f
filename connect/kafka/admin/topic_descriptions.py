"""Asks brokers for topics by name, as a list of all topics of a large cluster costs them much."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, TopicCollection

from connect.kafka.admin.calls import RetryingAdmin
from connect.lib.deadline import Deadline

_NOT_THERE: Final = frozenset({
    KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TOPIC_EXCEPTION,
    KafkaError.LEADER_NOT_AVAILABLE,
})  # fmt: skip
"""Brokers answer with these errors if a topic does not exist, does not exist yet, cannot exist, or is hidden."""
_NO_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's Uuid gives sixteen zero bytes as this base64."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """Holds a topic's number of partitions, and the smallest replication factor among them.

    `topic_id` is None from brokers that give no ids.
    """

    name: str
    partitions: int
    replication_factor: int
    topic_id: str | None = None


def ids_of(found: Mapping[str, TopicDescription]) -> dict[str, str]:
    """Return the ids of topics by their names, as far as brokers give ids."""
    return {name: topic.topic_id for name, topic in found.items() if topic.topic_id is not None}


def id_text(given: Any) -> str | None:
    """Return the text of a topic's id; None from brokers that give no ids."""
    text = str(given)
    return None if text == _NO_TOPIC_ID else text


def described(admin: RetryingAdmin, names: Collection[str], deadline: Deadline) -> dict[str, TopicDescription]:
    """Return the topics that exist among these; missing ones are left out."""
    wanted = list(dict.fromkeys(names))
    asked = asked_of_each(admin, wanted, admin.first_limit_s(deadline)) if wanted else {}
    found: dict[str, TopicDescription] = {}
    for name in wanted:

        def ask(timeout_s: float, name: str = name) -> Future[Any]:
            return asked.pop(name, None) or asked_of_each(admin, [name], timeout_s)[name]

        topic = admin.call(ask, deadline, "describing topics", ignore=_NOT_THERE)
        if topic is not None:
            replicas = min((len(part.replicas) for part in topic.partitions), default=0)
            found[name] = TopicDescription(name, len(topic.partitions), replicas, id_text(topic.topic_id))
    return found


def asked_of_each(admin: RetryingAdmin, names: list[str], timeout_s: float) -> dict[str, Future[Any]]:
    """Ask for these topics in one request, and return the future of each topic's answer."""
    # Return a copy, as the client uses the dict to answer those that wait.
    return dict(admin.client.describe_topics(TopicCollection(names), request_timeout=timeout_s))
