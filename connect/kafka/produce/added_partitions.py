"""Asks brokers for partitions that a topic got after a producer first heard of it.

A producer asks by itself every five minutes (`topic.metadata.refresh.interval.ms`). Until then it refuses rows for a
partition that it does not know.
"""

from __future__ import annotations

from ctypes import c_void_p
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer

from connect.kafka.client.librdkafka import partition_count

UNKNOWN_PARTITION: Final = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001 - librdkafka's own codes begin so
"""A row gets this error if its producer does not know its partition."""
_ASK_S: Final = 2.0


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
