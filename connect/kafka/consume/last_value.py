"""Reads and writes the values of one key in a topic's first partition, for facts that a worker looks up once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import RetriableError
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import translate, translated
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]
PARTITION: Final = 0
_POLL_S: Final = 0.5
_END_MS: Final = 10
"""A broker waits so many milliseconds for more records before it reports the end."""
_SOON: Final = {"topic.metadata.refresh.fast.interval.ms": 10, "retry.backoff.ms": 10, "retry.backoff.max.ms": 50}
"""Brokers know of a topic that was just made some time after they say so: it is asked for often meanwhile."""


class LastValue(NamedTuple):
    """Holds a value (None: removed), its place, and the time of writing by its writer's clock."""

    value: bytes | None
    offset: int
    time_ms: int


def read_values(topics: list[str], key: bytes, settings: Settings, deadline: Deadline) -> dict[str, list[LastValue]]:
    """Return the key's values in the first partition of each topic, oldest first, if compaction has not removed them.

    Raise RetriableError when the ends were not reached in time.
    """
    found: dict[str, list[LastValue]] = {topic: [] for topic in topics}
    own = {**settings, "enable.partition.eof": True, "enable.auto.commit": False, "group.id": "unused"}
    own |= {"fetch.wait.max.ms": _END_MS, "auto.offset.reset": "earliest"}
    with translated("making a consumer"):
        consumer = Consumer(own, logger=client_logger("last_value"))
    try:
        # The start is a number, as librdkafka takes half a second to look up "beginning" after it found the leader.
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
                    found[topic].append(_kept(message))
            elif error.code() == KafkaError._PARTITION_EOF or topic in left:  # noqa: SLF001 - librdkafka's own code
                # A worker that may not read another cluster's topic starts all the same.
                left.discard(topic)
            elif error.fatal():
                raise translate(error, "reading the claims of clusters")
    finally:
        consumer.close()
    return found


def write_value(topic: str, key: bytes, value: bytes | None, settings: Settings, deadline: Deadline) -> LastValue:
    """Write the value where `read_values` finds it, and return it. The brokers' errors pass through."""
    done: list[Message] = []
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            done.append(message)
        else:
            failed.append(error)

    # One record needs no idempotence, for which a producer would wait if its broker has just started.
    own = {**settings, "enable.idempotence": False, "linger.ms": 0, "delivery.report.only.error": False, **_SOON}
    own.pop("producer.path", None)
    with translated("making a producer"):
        producer = Producer(own, logger=client_logger("last_value"))
    producer.produce(topic, value, key, PARTITION, on_delivery=delivered)
    if producer.flush(deadline.remaining_s):
        raise RetriableError(f"Topic {topic} was not written in time.")
    if failed:
        raise translate(failed[0], f"writing to topic {topic}")
    return _kept(done[0])


def _kept(message: Message) -> LastValue:
    value = message.value()
    kept = value if isinstance(value, bytes) else None
    return LastValue(kept, message.offset() or 0, message.timestamp()[1])
