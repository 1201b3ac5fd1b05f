"""Judges how large a record may be at each step: producer, topic, broker, consumer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connect.doctor.model.facts import ConnectorFacts, Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, topic_config_line, topics_in_use

PRODUCER: Final = "message.max.bytes"
CONSUMER: Final = "receive.message.max.bytes"
REQUEST: Final = "socket.request.max.bytes"
_OVERHEAD_BYTES: Final = 512
"""librdkafka needs this many bytes beside the records of an answer."""


class MessageSizes:
    """Judges the sizes on the way of each connector's records."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield each step that accepts smaller records than the step before it."""
        for connector in facts.connectors:
            for name in connector.topics:
                topic = facts.kafka.topics.get(name)
                most = number(topic.configs.get("max.message.bytes")) if topic is not None else None
                if most is not None:
                    yield from _of_topic(facts, connector, name, most)
        for name in topics_in_use(facts):
            yield from _of_broker(facts, name)


def _of_topic(facts: Facts, connector: ConnectorFacts, topic: str, most: int) -> Iterable[Finding]:
    sent, received = connector.client.get(PRODUCER), connector.client.get(CONSUMER)
    if not connector.is_sink and sent is not None and sent > most:
        yield Finding(
            "producer-above-topic", Severity.WARNING, f"connector {connector.name}",
            f"Its producer sends up to {sent} bytes; topic {topic} takes {most} (max.message.bytes).",
            "The broker refuses a larger record, and the task fails at it.",
            topic_config_line(facts, topic, f"max.message.bytes={sent}"),
        )  # fmt: skip
    if connector.is_sink and received is not None and received < most + _OVERHEAD_BYTES:
        yield Finding(
            "consumer-below-topic", Severity.WARNING, f"connector {connector.name}",
            f"Its consumer takes answers of up to {received} bytes; topic {topic} may hold records of {most}.",
            "The sink stands still before the first record that is larger.",
            f'"consumer.override.receive.message.max.bytes": "{most + _OVERHEAD_BYTES}"',
        )  # fmt: skip


def _of_broker(facts: Facts, topic: str) -> Iterable[Finding]:
    found = facts.kafka.topics.get(topic)
    most = number(found.configs.get("max.message.bytes")) if found is not None else None
    taken = number(facts.kafka.broker.get(REQUEST))
    if most is not None and taken is not None and taken < most:
        yield Finding(
            "request-below-topic", Severity.WARNING, f"topic {topic}",
            f"It may hold records of {most} bytes; brokers take requests of up to {taken} ({REQUEST}).",
            "A broker drops the connection of whoever sends a larger request, and the task sends it again and again.",
            f"{REQUEST}={most + _OVERHEAD_BYTES}  # in server.properties of every broker",
        )  # fmt: skip
