"""Defines how records are taken from librdkafka: the protocol, and the plain way, with a Python object per record."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol

from confluent_kafka import Consumer, Message

from connect.api.records import TopicPartition
from connect.kafka.consume.columns import PolledBatches, polled_batches


class Reads(Protocol):
    """Takes records from librdkafka. Owned by the consumer's thread; rebalance callbacks run inside `take` and `serve`.

    Raises KafkaException.
    """

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Prepare to read these partitions. Called before they are assigned in librdkafka."""

    def unassigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, which are no longer read."""

    def take(self, most: int, wait_s: float, fill_s: float) -> PolledBatches:
        """Return at most `most` records. Wait up to `wait_s` for the first one, then collect more for `fill_s`."""

    def serve(self, timeout_s: float) -> PolledBatches:
        """Serve callbacks for `timeout_s`, or until one was served. Return records that came meanwhile."""

    @property
    def most_wait_s(self) -> float:
        """Return how long one wait may last, so that a rebalance and a stop are seen soon."""

    def wake(self) -> None:
        """End a wait of `take` before its time, where that is possible. Any thread may call it, also after `close`."""

    def close(self) -> None:
        """Free what this object holds, before the consumer itself is closed."""


class PlainReads:
    """Reads records one by one, see `Reads`. Works without native code."""

    most_wait_s: Final = 0.1

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._gone: set[TopicPartition] = set()

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Do nothing."""

    def unassigned(self, partitions: Collection[TopicPartition]) -> None:
        """Take note of the partitions, so that records read of them are dropped: their next owner reads them again."""
        self._gone.update(partitions)

    def take(self, most: int, wait_s: float, fill_s: float) -> PolledBatches:
        """See `Reads`."""
        messages: list[Message] = list(self._consumer.consume(most, 0))
        if not messages and wait_s > 0:
            messages = list(self._consumer.consume(1, wait_s))
        if messages and len(messages) < most:
            # A partition may go in this call, and even come back to be read from its commit on. librdkafka then drops
            # what this call had read of it, and knows nothing of the one before.
            self._gone.clear()
            more = self._consumer.consume(most - len(messages), fill_s)
            if self._gone:
                messages = [m for m in messages if (m.topic(), m.partition()) not in self._gone]
            messages += more
        return polled_batches(messages)

    def serve(self, timeout_s: float) -> PolledBatches:
        """See `Reads`; librdkafka has one queue for both."""
        return polled_batches(list(self._consumer.consume(1, timeout_s)))

    def wake(self) -> None:
        """Do nothing: waits are short."""

    def close(self) -> None:
        """Do nothing."""
