"""Checks a sink's dead letters: each record is one once, also when the sink gives it up long after it was read."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.produce.pooled_producer import PooledProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.tolerance import BadRow, Stage
from connect.runtime.task.task_id import TaskId


class Sent:
    """Keeps what is produced."""

    outstanding = 0

    def __init__(self):
        self.batches = []

    def send(self, batch, deadline):
        self.batches.append(batch)


def log(topic, partition, *offsets):
    return RawBatch(
        topic, pa.array([b"v%d" % o for o in offsets], pa.binary()),
        pa.array([b"k%d" % o for o in offsets], pa.binary()),
        headers=[[("own", b"%d" % o)] for o in offsets], partition=partition, offsets=pa.array(offsets, pa.int64()),
        next_offset=offsets[-1] + 1,
    )  # fmt: skip


def row(offset, partition=3, text="bad"):
    return BadRow(Stage.TASK_PUT, "Sink", ValueError(text), "orders", partition, offset)


@pytest.fixture
def sent():
    return Sent()


@pytest.fixture
def letters(sent):
    def read_again(place, offset, deadline):
        assert place == TopicPartition("orders", 3)
        if offset < 5:
            raise ConnectError(f"The record at {offset} is no longer in the log.")
        return log("orders", 3, offset)

    return DeadLetters(sent, "dlq", TaskId("c", 1), context_headers=True, timeout_s=1, read_again=read_again)


def values(sent):
    return [value for batch in sent.batches for value in batch.values.to_pylist()]


def test_rows_of_the_batch_at_hand_become_letters_in_order(letters, sent):
    letters.current = log("orders", 3, 10, 12, 15)
    letters.add([row(10), row(15)])
    assert values(sent) == [b"v10", b"v15"]
    (batch,) = sent.batches
    first = dict(batch.headers[0])
    assert (first["own"], first["__connect.errors.offset"], first["__connect.errors.stage"]) == (
        b"10",
        b"10",
        b"TASK_PUT",
    )


def test_a_record_of_which_several_rows_are_bad_is_one_letter_with_the_first_reason(letters, sent):
    letters.current = log("orders", 3, 10, 12)
    letters.add([row(12, text="first"), row(12, text="second")])
    assert values(sent) == [b"v12"]
    assert dict(sent.batches[0].headers[0])["__connect.errors.exception.message"] == b"first"


@pytest.mark.parametrize("current", [None, log("orders", 3, 100), log("orders", 0, 7), log("other", 3, 7)])
def test_a_row_given_up_later_is_read_again(letters, sent, current):
    letters.current = current
    letters.add([row(7)])
    assert values(sent) == [b"v7"]


def test_a_record_that_is_gone_is_told(letters):
    with pytest.raises(ConnectError, match="no longer in the log"):
        letters.add([row(4)])


class Refusing:
    """A pool of one shared client, whose brokers refuse each record at once."""

    def take(self, settings):
        return self

    def produce(self, topic, value, key, on_delivery, **rest):
        on_delivery(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), Told(topic, value, key))


class Told(NamedTuple):
    """A message as a delivery report has it."""

    of_topic: str
    of_value: bytes
    of_key: bytes

    def topic(self):
        return self.of_topic

    def value(self):
        return self.of_value

    def key(self):
        return self.of_key


def test_a_letter_that_the_brokers_refused_is_no_flushed_letter():
    producer = PooledProducer(Refusing(), {}, {})
    letters = DeadLetters(producer, "dlq", TaskId("c", 1), context_headers=True, timeout_s=1, read_again=pytest.fail)
    letters.current = log("orders", 3, 10)
    letters.add([row(10)])
    with pytest.raises(ConnectError, match="writing to topic dlq"):
        letters.flush(Deadline.after(1))
