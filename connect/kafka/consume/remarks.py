"""Keeps remarks: texts that a group commits with its offsets, as their metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.client.errors import translated
from connect.kafka.client.rights import Needs
from connect.lib.deadline import Deadline


class Remarks:
    """Keeps the remarks on a consumer's partitions. Owned by the consumer's thread."""

    def __init__(self, consumer: Consumer, needs: Callable[[], Needs]) -> None:
        """Take the consumer. `needs` returns the rights that it needs now."""
        self._consumer = consumer
        self._needs = needs
        self.own: dict[TopicPartition, str] = {}
        """Holds the remark that goes with every commit of a partition until it is removed."""

    def committed(self, partitions: Iterable[TopicPartition], deadline: Deadline) -> dict[TopicPartition, str]:
        """Return the remarks of the group's committed offsets; partitions without one are left out.

        Raise ConnectError if the group's coordinator does not answer.
        """
        wanted = [KafkaPartition(*tp) for tp in partitions]
        with translated("reading committed offsets", self._needs()):
            found = self._consumer.committed(wanted, timeout=max(0.001, deadline.remaining_s))
        return {TopicPartition(p.topic, p.partition): p.metadata for p in found if p.metadata}
