"""Follows the committed records of a topic; each record has a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

_POLL_S = 0.2
_MOST = 10_000


class CommittedIds:
    """Collects the numbers of all records so far. Owned by one thread."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int, number_of: Callable[[bytes], int]) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers, "group.id": f"{topic}-ids", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        }  # fmt: skip
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        self._number_of = number_of
        self._ids: list[int] = []

    def read(self) -> list[int]:
        """Return the numbers of all records that are committed now, in the order in which they came."""
        while messages := self._consumer.consume(_MOST, _POLL_S):
            for message in messages:
                error, value = message.error(), message.value()
                if error is not None and not error.retriable():
                    raise KafkaException(error)
                if error is None and value is not None:
                    self._ids.append(self._number_of(value))
        return self._ids

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()
