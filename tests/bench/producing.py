"""Provides the producer of the jobs that are peers: librdkafka's own, one call per row."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Producer


def new_producer(bootstrap_servers: str) -> Producer:
    """With acks=all, as ours."""
    return Producer(
        {"bootstrap.servers": bootstrap_servers, "acks": "all", "enable.idempotence": True, "linger.ms": 10,
         "queue.buffering.max.messages": 200_000, "partitioner": "murmur2_random"}
    )  # fmt: skip


def produce(producer: Producer, topic: str, value: bytes) -> None:
    """Send one record, waiting while the queue is full."""
    while True:
        try:
            producer.produce(topic, value)
        except BufferError:
            producer.poll(0.05)
        else:
            return


def produce_again(producer: Producer, topic: str, values: Sequence[bytes], rows: int) -> int:
    """Send values that are ready, over and over, until at least `rows` are delivered; how many."""
    sent = 0
    while sent < rows:
        for value in values:
            produce(producer, topic, value)
        producer.poll(0)
        sent += len(values)
    producer.flush()
    return sent
