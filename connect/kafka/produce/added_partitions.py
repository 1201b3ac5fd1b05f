"""Asks brokers for partitions that a topic got after a producer first heard of it.

A producer asks by itself every five minutes (`topic.metadata.refresh.interval.ms`). Until then it refuses rows for a
partition that it does not know. Brokers hear of new partitions a moment after the controller has made them, so a broker
that lacks a partition is asked again for some seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from ctypes import c_void_p
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer

from connect.kafka.client.librdkafka import partition_count

UNKNOWN_PARTITION: Final = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001 - librdkafka's own codes begin so
"""A row gets this error if its producer does not know its partition."""
HEARD_OF_S: Final = 10.0
"""Within this many seconds every broker has heard of partitions that a topic got."""
_ASK_S: Final = 2.0
_PAUSE_S: Final = 0.05
_NEVER: Final = threading.Event()


@dataclass(slots=True)
class _Missed:
    """Says when a partition was first and last missed by a row."""

    first_s: float
    last_s: float


class AddedPartitions:
    """Tells whether rows wait for a partition that brokers may hear of yet. Any thread may ask it."""

    def __init__(
        self, clock_s: Callable[[], float] = time.monotonic, pause: Callable[[float], object] = _NEVER.wait
    ) -> None:
        self._clock_s = clock_s
        self._pause = pause
        self._missed: dict[tuple[str, int], _Missed] = {}

    def may_come(self, topic: str, partition: int, *, may_be_there: bool) -> bool:
        """Return True if a row for the partition, which was refused just now, is to be tried again.

        `may_be_there` is what a broker has just told. If it lacks the partition, this waits a moment for the next try.
        """
        place = (topic, partition)
        if may_be_there:
            self._missed.pop(place, None)
            return True
        now_s = self._clock_s()
        missed = self._missed.get(place)
        if missed is None or now_s - missed.last_s > HEARD_OF_S:
            missed = _Missed(now_s, now_s)
        if now_s - missed.first_s >= HEARD_OF_S:
            self._missed.pop(place, None)
            return False
        missed.last_s = now_s
        self._missed[place] = missed
        self._pause(_PAUSE_S)
        return True


def may_be_there(client: Producer, topic: str, partition: int) -> bool:
    """Have a producer of confluent_kafka ask the brokers for a topic. Return False if they lack the partition.

    Return True if the partition is there, or if no broker answers: then nobody knows.
    """
    try:
        found = client.list_topics(topic, timeout=_ASK_S).topics.get(topic)
    except KafkaException:
        return True
    return found is not None and found.error is None and partition in found.partitions


def may_be_there_for(client: c_void_p | int, topic: int, partition: int) -> bool:
    """Have a producer of librdkafka ask in the same way; `topic` is its rd_kafka_topic_t."""
    count = partition_count(client, topic, int(_ASK_S * 1000))
    return count is None or partition < count
