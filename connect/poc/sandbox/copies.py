"""Copies records into topics of the sandbox: each keeps its partition, key, value, headers and timestamp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, producer_settings
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

CLIENT_ID = "connect-poc"


def write_records(
    clients: Mapping[str, str], batches: Iterable[RawBatch], partitions: Mapping[str, int], deadline: Deadline
) -> dict[TopicPartition, int]:
    """Write each record to the partition it names. Return the end offset of every partition.

    `clients` are the settings that say how Kafka is reached. `partitions` is the number of partitions of each topic,
    which is created where it is missing. RetriableError: the records were not written by the deadline.
    """
    admin = TopicAdmin(admin_settings(clients, {}, CLIENT_ID).properties)
    for topic, count in partitions.items():
        admin.create(topic, partitions=count, replication_factor=1, deadline=deadline)
    producer = BatchProducer(producer_settings(clients, {}, client_id=CLIENT_ID).properties)
    try:
        for batch in batches:
            producer.send(replace(batch, offsets=None, next_offset=None), deadline)
        producer.flush(deadline)
    finally:
        producer.close()
    places = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    return admin.end_offsets(places, deadline)
