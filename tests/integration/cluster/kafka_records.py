"""What is in a topic now, read from outside."""

import json

from confluent_kafka import Consumer, TopicPartition


def records(kafka, topic, isolation="read_committed"):
    """Key and value of every record, partition by partition; none of a topic that does not exist."""
    return [(message.key(), message.value()) for message in messages(kafka, topic, isolation)]


def messages(kafka, topic, isolation="read_committed"):
    """Every record as the client gives it, partition by partition; none of a topic that does not exist."""
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
        # Only this topic is described: all tests together leave thousands behind, and they ask again and again.
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        partitions = [TopicPartition(topic, p, 0) for p in found.partitions]
        read = []
        for partition in partitions:
            end = consumer.get_watermark_offsets(partition, timeout=20)[1]
            consumer.assign([partition])
            while consumer.position([partition])[0].offset < end:
                message = consumer.poll(1.0)
                if message is None:
                    break  # an open transaction is in the way, or what is left are its markers
                read.append(message)
        return read
    finally:
        consumer.close()


def values(kafka, topic, isolation="read_committed"):
    """The values, decoded from JSON."""
    return [json.loads(value) for _, value in records(kafka, topic, isolation)]
