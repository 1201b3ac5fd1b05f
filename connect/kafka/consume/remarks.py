"""Texts that a group keeps beside the offsets that it commits, as their metadata."""

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
        """`needs` tells what the consumer does now."""
        self._consumer = consumer
        self._needs = needs
        self.own: dict[TopicPartition, str] = {}
        """Each goes with every commit of its partition, until it is taken out."""

    def committed(self, partitions: Iterable[TopicPartition], deadline: Deadline) -> dict[TopicPartition, str]:
        """Return what stands beside the group's committed offsets; partitions without a remark are left out.

        ConnectError: the group does not say.
        """
        wanted = [KafkaPartition(*tp) for tp in partitions]
        with translated("reading committed offsets", self._needs()):
            found = self._consumer.committed(wanted, timeout=max(0.001, deadline.remaining_s))
        return {TopicPartition(p.topic, p.partition): p.metadata for p in found if p.metadata}
