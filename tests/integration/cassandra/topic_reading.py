"""Reads what is in a topic now, with the raw client."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from e2e_worker import wait_for

from connect.tools.services import KafkaEndpoint

LEADERLESS: Final = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
"""A broker that was just started again answers with these errors about its partitions."""


class JsonRecord(NamedTuple):
    """Holds a record whose key and value are JSON."""

    partition: int
    offset: int
    key: Any
    value: Any


def json_records(kafka: KafkaEndpoint, topic: str) -> list[JsonRecord]:
    """Return every record of a topic up to its present ends; none if there is no topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers, "group.id": "none", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "enable.partition.eof": True, "isolation.level": "read_committed",
        }
    )  # fmt: skip
    try:
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        if found.error is not None or not found.partitions:
            return []
        left = {number: end for number in found.partitions if (end := _end(consumer, TopicPartition(topic, number)))}
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        records = []
        while left:
            message = consumer.poll(20)
            assert message is not None, f"{topic} has more records than come"
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                left.pop(message.partition(), None)
                continue
            key, value = message.key(), message.value()
            if message.offset() + 1 >= left.get(message.partition(), 0):
                # Records that have come since are not awaited: while records keep coming, the client never reports an
                # end.
                left.pop(message.partition(), None)
            records.append(
                JsonRecord(
                    message.partition(),
                    message.offset(),
                    None if key is None else json.loads(key),
                    None if value is None else json.loads(value),
                )
            )
        return records
    finally:
        consumer.close()


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    """Return the offset behind the last record, once the partition has a leader."""

    def ends() -> tuple[int, int] | None:
        try:
            return consumer.get_watermark_offsets(partition, timeout=20)
        except KafkaException as error:
            if error.args[0].code() not in LEADERLESS:
                raise
            return None

    return wait_for(ends, 60, f"a leader of {partition.topic}-{partition.partition}")[1]
