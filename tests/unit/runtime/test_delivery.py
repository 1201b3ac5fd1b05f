"""Checks when an at-least-once source stores offsets: behind acknowledged rows, while others are on their way."""

from __future__ import annotations

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.delivery import AtLeastOnceDelivery


@pytest.fixture
def kafka():
    return FakeKafka()


@pytest.fixture
def new_delivery(kafka):
    return lambda *acknowledged: AtLeastOnceDelivery(FakeProducer(kafka, acknowledged), FakeOffsets(kafka))


def in_s(seconds=1):
    return Deadline.after(seconds)


def send(delivery, partition, n, topic="t"):
    rows = [RawBatch(topic, pa.array([b"row"], pa.binary()))]
    delivery.send(rows, [SourcePosition({"p": partition}, {"n": n})], in_s(), meanwhile=lambda: None)


def numbers(positions):
    return sorted(position.offset["n"] for position in positions)


def test_an_offset_that_was_not_stored_in_time_is_stored_by_the_next_flush(kafka, new_delivery):
    delivery = new_delivery()
    kafka.failures["store"] = 2
    for partition, n in ((0, 1), (1, 5), (0, 2)):
        send(delivery, partition, n)
        if kafka.failures["store"]:
            with pytest.raises(RetriableError):
                delivery.flush(in_s())
    assert numbers(delivery.flush(in_s())) == [2, 5]
    assert kafka.offsets == {'{"p":0}': {"n": 2}, '{"p":1}': {"n": 5}}
    assert delivery.flush(in_s()) == []


def test_no_offset_is_stored_before_its_rows_are_acknowledged(kafka, new_delivery):
    delivery = new_delivery(0, 1, 0)
    send(delivery, 0, 1)
    send(delivery, 0, 2)
    assert delivery.flush(in_s()) == []
    assert numbers(delivery.flush(in_s())) == [1]
    assert delivery.flush(in_s()) == []
    assert numbers(delivery.flush(in_s())) == [2]


def test_a_delivery_is_settled_once_each_offset_is_stored(kafka, new_delivery):
    delivery = new_delivery(0, 1)
    assert delivery.is_settled
    send(delivery, 0, 1)
    assert not delivery.is_settled
    delivery.flush(in_s())
    assert not delivery.is_settled, "its row is on its way"
    kafka.failures["store"] = 1
    with pytest.raises(RetriableError):
        delivery.flush(in_s())
    assert not delivery.is_settled, "its offset is not stored"
    assert numbers(delivery.flush(in_s())) == [1]
    assert delivery.is_settled


def test_rows_that_kafka_does_not_take_hold_back_their_own_source_partition_alone(kafka, new_delivery):
    delivery = new_delivery()
    kafka.stuck = {"stuck"}
    send(delivery, 0, 1, "stuck")
    send(delivery, 0, 2)
    for n in (7, 8):
        send(delivery, 1, n)
        assert numbers(delivery.flush(in_s())) == [n]
    assert numbers(delivery.drain(in_s())) == []
    assert "rows of 1 source partitions" in delivery.held_up
    assert "{'p': 0}" in delivery.held_up
    kafka.stuck.clear()
    delivery.check()
    assert numbers(delivery.flush(in_s())) == [2]
    assert delivery.held_up is None


def test_what_was_on_its_way_at_a_flush_is_stored_as_soon_as_all_is_acknowledged(new_delivery):
    delivery = new_delivery(0)
    send(delivery, 0, 1)
    assert not delivery.due(polled=True, interval_over=False)
    assert delivery.flush(in_s()) == []
    assert not delivery.due(polled=True, interval_over=False)
    delivery.check()
    assert delivery.due(polled=False, interval_over=False)
    assert numbers(delivery.flush(in_s())) == [1]
    assert not delivery.due(polled=False, interval_over=False)


def test_a_task_that_ends_waits_for_its_rows_and_stores_what_is_safe(kafka, new_delivery):
    delivery = new_delivery(0, 0)
    send(delivery, 0, 1)
    send(delivery, 1, 5, "stuck")
    kafka.stuck = {"stuck"}
    assert numbers(delivery.drain(in_s())) == [1]


class BrokenProducer(FakeProducer):
    """A producer that cannot go on, as librdkafka's is behind a fatal error."""

    def flush(self, deadline: Deadline) -> None:
        raise ConnectError("The producer cannot go on.")


def test_an_error_of_the_producer_stores_the_offsets_of_rows_that_are_in_kafka(kafka):
    delivery = AtLeastOnceDelivery(BrokenProducer(kafka, [1]), FakeOffsets(kafka))
    send(delivery, 0, 1)
    send(delivery, 1, 5)
    delivery.check()
    assert numbers(delivery.leave(in_s())) == [1]
    assert kafka.offsets == {'{"p":0}': {"n": 1}}
