"""Checks what ends the wait of a consumer's thread, without brokers."""

import threading

import pytest
from confluent_kafka import Consumer

from connect import native
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import library
from connect.kafka.consume.arrivals import Arrivals
from connect.kafka.consume.consumer import BatchConsumer
from connect.lib.deadline import Deadline

SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}


@pytest.fixture
def arrivals():
    consumer = Consumer(SETTINGS, logger=None)
    queue = library().rd_kafka_queue_new(client_of(consumer))
    made = Arrivals()
    made.watch(queue)
    yield made
    made.close()
    library().rd_kafka_queue_destroy(queue)
    consumer.close()


def test_a_wake_ends_the_next_wait_once(arrivals):
    for _ in range(3):
        arrivals.wake()
    assert arrivals.wait(600.0)
    assert not arrivals.wait(0.01)


def test_more_wakes_than_a_pipe_holds_do_not_block(arrivals):
    for _ in range(100_000):
        arrivals.wake()
    assert arrivals.wait(600.0)


def test_a_wake_after_the_end_does_nothing(arrivals):
    arrivals.close()
    arrivals.wake()
    arrivals.close()


@pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)
def test_a_stop_ends_the_wait_of_a_poll_if_the_consumer_is_woken():
    consumer, stop = BatchConsumer(SETTINGS), threading.Event()
    polling = threading.Thread(target=consumer.poll, args=(10, Deadline.after(600.0, stop)))
    polling.start()
    stop.set()
    consumer.wake()
    polling.join(60)
    assert not polling.is_alive()
    consumer.close(Deadline.after(60))
