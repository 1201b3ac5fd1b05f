"""The producer of the jobs that are peers: librdkafka's own, one call per row."""

from __future__ import annotations

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
