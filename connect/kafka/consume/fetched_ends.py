"""Tells where partitions end as of the last fetch, to any thread: also while the consumer's own one is busy."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition


class FetchedEnds:
    """Asks librdkafka for what it knows; no broker is asked. Any thread may use it until the consumer is closed."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._is_closed = False
        # A call to a client that another thread frees would crash the process.
        self._lock = threading.Lock()

    def of(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of these partitions, where they are known."""
        found = {}
        with self._lock:
            if self._is_closed:
                return {}
            for tp in partitions:
                try:
                    marks = self._consumer.get_watermark_offsets(KafkaPartition(*tp), cached=True)
                except KafkaException:
                    continue  # The partition is another member's now.
                if marks is not None and marks[1] >= 0:
                    found[tp] = marks[1]
        return found

    def close(self) -> None:
        """Ask no more, as the consumer is about to be closed."""
        with self._lock:
            self._is_closed = True
