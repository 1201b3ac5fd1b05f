"""A task whose row was refused ends: only rows that nobody answers for cost its neighbours their client."""

from __future__ import annotations

import threading
from typing import NamedTuple

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from connect.api.errors import ConnectError
from connect.kafka.produce.pooled_producer import PooledProducer
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline


class Sent(NamedTuple):
    """A message as a delivery report has it."""

    of_value: bytes

    def __len__(self):
        return len(self.of_value)

    def topic(self):
        return "t"

    def value(self):
        return self.of_value

    def key(self):
        return None


class Shared:
    """The pool and its one client; reports come when the test says so."""

    def __init__(self):
        self.reports = []
        self.given_up = self.given_back = False

    def take(self, settings):
        return self

    def give_back(self, shared):
        self.given_back = True

    def give_up(self, reason):
        self.given_up = True

    def produce(self, topic, value, key, on_delivery, **rest):
        self.reports.append(lambda error: on_delivery(error, Sent(value)))

    def answer(self, error=None):
        self.reports.pop(0)(error)


@pytest.fixture
def shared():
    return Shared()


@pytest.fixture
def receipt():
    return Receipt()


@pytest.fixture
def producer(shared, receipt):
    producer = PooledProducer(shared, {}, {})
    producer.send(RawBatch("t", pa.array([b"a", b"b"], pa.binary())), Deadline.after(1), receipt)
    shared.answer(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(ConnectError, match="writing to topic t"):
        producer.flush(Deadline.after(1))
    return producer


def test_a_refused_row_does_not_keep_the_answer_to_the_next_from_being_waited_for(shared, producer):
    late = threading.Timer(0.02, shared.answer)
    late.start()
    producer.close(10)
    late.join()
    assert (shared.given_up, shared.given_back) == (False, True)


def test_a_row_without_an_answer_takes_the_client_along(shared, producer):
    producer.close(0.01)
    assert (shared.given_up, shared.given_back) == (True, True)


def test_a_receipt_with_a_refused_row_is_never_settled(shared, producer, receipt):
    shared.answer()
    assert not receipt.is_settled
