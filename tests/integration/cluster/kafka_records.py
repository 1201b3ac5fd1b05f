"""Reads what is in a topic now, from outside of the product."""

import json

from confluent_kafka import Consumer, TopicPartition


def records(kafka, topic, isolation="read_committed"):
    """Return key and value of every record, partition by partition; none if there is no topic."""
    return [(message.key(), message.value()) for message in messages(kafka, topic, isolation)]


def messages(kafka, topic, isolation="read_committed"):
    """Return every record as the client gives it, partition by partition; none if there is no topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "looking-on",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "allow.auto.create.topics": False,
        }
    )
    try:
        # Only this topic is described: all tests together leave thousands, and this is asked again and again.
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        partitions = [TopicPartition(topic, p, 0) for p in found.partitions]
        read = []
        for partition in partitions:
            end = consumer.get_watermark_offsets(partition, timeout=20)[1]
            consumer.assign([partition])
            while consumer.position([partition])[0].offset < end:
                message = consumer.poll(1.0)
                if message is None:
                    break  # an open transaction is in the way, or only its markers are left
                read.append(message)
        return read
    finally:
        consumer.close()


def values(kafka, topic, isolation="read_committed"):
    """Return the values, decoded from JSON."""
    return [json.loads(value) for _, value in records(kafka, topic, isolation)]
