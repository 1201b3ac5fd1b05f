"""The last value of one key in one partition of a topic: for the few facts that a worker looks up once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.kafka.client_log import client_logger
from connect.kafka.errors import translate, translated

Settings = Mapping[str, str | int | float | bool]
PARTITION: Final = 0
_POLL_S: Final = 0.5
_END_MS: Final = 10
"""How long a broker looks out for more before it says that this is the end."""


def read_last(topics: list[str], key: bytes, settings: Settings, deadline: Deadline) -> dict[str, bytes]:
    """The last value under the key in the first partition of each topic; those without one are left out.

    RetriableError when the ends were not reached in time.
    """
    found: dict[str, bytes] = {}
    own = {**settings, "enable.partition.eof": True, "enable.auto.commit": False, "group.id": "unused"}
    own |= {"fetch.wait.max.ms": _END_MS, "auto.offset.reset": "earliest"}
    with translated("making a consumer"):
        consumer = Consumer(own, logger=client_logger("last_value"))
    try:
        # A number, as librdkafka looks up what "beginning" means half a second after it found the leader.
        consumer.assign([KafkaPartition(topic, PARTITION, 0) for topic in topics])
        left = set(topics)
        while left:
            message = consumer.poll(min(_POLL_S, deadline.remaining_s))
            if message is None:
                if deadline.expired:
                    raise RetriableError(f"Topics {', '.join(sorted(left))} were not read to their end in time.")
                continue
            error = message.error()
            topic = str(message.topic())
            if error is None:
                if message.key() == key:
                    value = message.value()
                    found[topic] = value if isinstance(value, bytes) else b""
            elif error.code() == KafkaError._PARTITION_EOF or topic in left:  # noqa: SLF001 - librdkafka's own code
                # Whoever may not read another cluster's topic is not kept from starting.
                left.discard(topic)
            elif error.fatal():
                raise translate(error, "reading the claims of clusters")
    finally:
        consumer.close()
    return found


def write_last(topic: str, key: bytes, value: bytes, settings: Settings, deadline: Deadline) -> None:
    """Write the value where `read_last` finds it. The broker's errors."""
    failed: list[KafkaError] = []
    with translated("making a producer"):
        producer = Producer(dict(settings), logger=client_logger("last_value"))
    producer.produce(topic, value, key, PARTITION, on_delivery=lambda error, _: failed.append(error) if error else None)
    if producer.flush(deadline.remaining_s):
        raise RetriableError(f"Topic {topic} was not written in time.")
    if failed:
        raise translate(failed[0], f"writing to topic {topic}")
