"""Writes records into topics of the sandbox as they were elsewhere: partition, key, value, headers, time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.kafka.settings import admin_settings, producer_settings
from connect.kafka.topics import TopicAdmin

CLIENT_ID = "connect-poc"


def write_records(
    servers: str, batches: Iterable[RawBatch], partitions: Mapping[str, int], deadline: Deadline
) -> dict[TopicPartition, int]:
    """Write each record to the partition it names; the ends of all. `partitions`: of each topic, made when missing.

    RetriableError: not in time.
    """
    properties = {"bootstrap.servers": servers}
    admin = TopicAdmin(admin_settings(properties, {}, CLIENT_ID).properties)
    for topic, count in partitions.items():
        admin.create(topic, partitions=count, replication_factor=1, deadline=deadline)
    producer = BatchProducer(producer_settings(properties, {}, client_id=CLIENT_ID).properties)
    try:
        for batch in batches:
            producer.send(replace(batch, offsets=None, next_offset=None), deadline)
        producer.flush(deadline)
    finally:
        producer.close()
    places = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    return admin.end_offsets(places, deadline)
