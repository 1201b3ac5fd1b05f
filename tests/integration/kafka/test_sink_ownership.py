"""A sink task that its group has put out is told so by the brokers, before any poll could tell it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.sink.membership import SinkMembership
from connect.runtime.sink.partitions import SinkPartitions
from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.integration


def member(kafka: KafkaEndpoint, group: str) -> BatchConsumer:
    return BatchConsumer({
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "session.timeout.ms": 6000, "max.poll.interval.ms": 6000,
    })  # fmt: skip


def membership_of(consumer: BatchConsumer, place: TopicPartition) -> SinkMembership:
    """The membership of a task that has read its first record."""
    partitions = SinkPartitions()
    partitions.read(place, RawBatch(place.topic, pa.array([b"row"]), offsets=pa.array([0]), next_offset=1))
    return SinkMembership(consumer, partitions)


def test_a_task_that_does_not_poll_any_more_owns_nothing_and_the_next_one_does(kafka: KafkaEndpoint, unique: str):
    brokers, place = {"bootstrap.servers": kafka.bootstrap_servers}, TopicPartition(unique, 0)
    admin = AdminClient(brokers)
    admin.create_topics([NewTopic(unique, 1, 1)])[unique].result(30)
    producer = Producer(brokers)
    producer.produce(unique, b"row")
    assert producer.flush(30) == 0
    first, second = member(kafka, unique), member(kafka, unique)
    try:
        for consumer in (first, second):
            consumer.subscribe([unique], lambda _: None, lambda _: None, lambda _: None)
            deadline = Deadline.after(60)
            while not consumer.poll(10, deadline.sooner(1)):
                assert not deadline.expired
            if consumer is first:
                assert membership_of(first, place).owns(place, Deadline.after(20))
                assert first.committed([place], Deadline.after(20)) == {place: 0}, "nothing was gone past"
        assert membership_of(second, place).owns(place, Deadline.after(20))
        try:
            owns = membership_of(first, place).owns(place, Deadline.after(20))
        except RetriableError:
            owns = False  # of an older generation: asked again behind the next poll
        assert not owns
    finally:
        for consumer in (second, first):
            consumer.close(Deadline.after(20))
