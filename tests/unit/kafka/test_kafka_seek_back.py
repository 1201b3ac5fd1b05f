"""A seek back takes effect at once, so an error of the offset that was sought is none of an offset passed before."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Producer

from connect.api.records import TopicPartition
from connect.kafka.consume.columns import ReadError
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.offset_resets import _OUT_OF_RANGE
from connect.lib.deadline import Deadline

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker():
    producer = Producer({"test.mock.num.brokers": 1})
    for number in range(20):
        for place in (PLACE, OTHER):
            producer.produce(place.topic, b"%d" % number, partition=place.partition)
    assert producer.flush(10) == 0
    node = producer.list_topics(timeout=10).brokers[1]
    yield {"bootstrap.servers": f"{node.host}:{node.port}", "group.id": "g"}
    producer.flush(0)


@pytest.fixture(params=["columnar", "plain"])
def consumer(broker, request):
    made = BatchConsumer({**broker, "consumer.path": request.param})
    made.assign({PLACE: 0, OTHER: 0})
    yield made
    made.assign({})
    made.close(Deadline.after(5))


def offsets(consumer, count: int) -> list[tuple[int, int]]:
    """The partition and offset of each of the next rows."""
    found, deadline = [], Deadline.after(30)
    while len(found) < count and not deadline.expired:
        found += [(b.partition, offset) for b in consumer.poll(100, deadline) for offset in b.offsets.to_pylist()]
    return found


def test_an_offset_that_was_sought_and_is_lost_is_no_old_one(consumer):
    """librdkafka tells no position from a seek to the next row. The one before the seek would be behind the offset."""
    lost = ReadError(KafkaError(KafkaError._AUTO_OFFSET_RESET, _OUT_OF_RANGE), PLACE, 5)
    assert len(offsets(consumer, 40)) == 40
    assert consumer._resets.takes(lost, {PLACE})
    assert consumer._resets._passed() == [PLACE]
    consumer._resets.forget([PLACE])
    consumer.seek(PLACE, 5)
    consumer.pause([PLACE])
    consumer.resume([PLACE])
    assert consumer._resets.takes(lost, {PLACE})
    assert consumer._resets._passed() == []


def test_a_restart_of_another_partition_leaves_one_where_it_was_sought(consumer):
    assert len(offsets(consumer, 40)) == 40
    consumer.seek(PLACE, 5)
    consumer._assignment.restart({OTHER: 18})
    assert sorted(offsets(consumer, 17)) == [*((0, n) for n in range(5, 20)), (1, 18), (1, 19)]
