"""A consumer that only the garbage collector ends may hang for ever, in whatever line comes: none is left unclosed."""

from __future__ import annotations

import threading
from typing import ClassVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.consume import consumer as batch_consumer
from connect.kafka.consume import membership_consumer
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.membership_consumer import MembershipConsumer
from connect.kafka.log import kv_log
from connect.kafka.log.kv_log import KeyValueLog
from connect.lib.deadline import Deadline
from connect.runtime.topics.topic_records import KafkaTopicRecords

SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
REFUSED = KafkaException(KafkaError(KafkaError._INVALID_ARG, "planted"))


class Watched(Consumer):
    """librdkafka's own consumer, which keeps a list of those that are open."""

    made = 0
    open_ones: ClassVar[list[Watched]] = []

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        Watched.made += 1
        Watched.open_ones.append(self)

    def close(self):
        Watched.open_ones.remove(self)
        super().close()


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    """Each test makes a client and, at its end, leaves none open."""
    monkeypatch.setattr(Watched, "made", 0)
    monkeypatch.setattr(Watched, "open_ones", [])
    for module in (batch_consumer, membership_consumer, kv_log):
        monkeypatch.setattr(module, "Consumer", Watched)
    yield
    assert Watched.made == 1
    left = [Consumer.close(client) for client in Watched.open_ones]
    assert left == []


def planted(*_args, **_kwargs):
    raise RuntimeError("planted")


@pytest.mark.parametrize("part", ["_reads", "PartitionEnds", "OffsetResets", "Assignment", "Subscription"])
def test_a_consumer_of_which_a_part_cannot_be_made_is_closed(monkeypatch, part):
    monkeypatch.setattr(batch_consumer, part, planted)
    with pytest.raises(RuntimeError, match="planted"):
        BatchConsumer(SETTINGS)


def test_a_consumer_that_cannot_leave_its_group_is_closed(monkeypatch):
    def refuse(_self):
        raise REFUSED

    consumer = BatchConsumer(SETTINGS)
    monkeypatch.setattr(Watched, "unsubscribe", refuse)
    with pytest.raises(ConnectError, match="planted"):
        consumer.close(Deadline.after(60))


def test_a_consumer_whose_last_rebalance_fails_is_closed(monkeypatch):
    consumer = BatchConsumer(SETTINGS)
    monkeypatch.setattr(consumer._assignment, "owned", {TopicPartition("t", 0)})
    monkeypatch.setattr(consumer._reads, "serve", planted)
    with pytest.raises(RuntimeError, match="planted"):
        consumer.close(Deadline.after(60))


def test_a_member_that_cannot_subscribe_is_closed(monkeypatch):
    def refuse(_self, _topics, **_callbacks):
        raise REFUSED

    monkeypatch.setattr(Watched, "subscribe", refuse)
    with pytest.raises(ConnectError, match="planted"):
        MembershipConsumer("slots", SETTINGS, None)


@pytest.mark.parametrize("begin", [KeyValueLog.begin, KeyValueLog.start])
def test_a_log_that_cannot_start_lets_go_of_its_clients(begin):
    before = set(threading.enumerate())
    producer = {"bootstrap.servers": SETTINGS["bootstrap.servers"]}
    log = KeyValueLog("t", SETTINGS, producer, on_record=planted, transactional=producer)
    with pytest.raises(RetriableError):
        begin(log, Deadline.after(0.2))
    assert [thread.name for thread in set(threading.enumerate()) - before] == []


def test_a_log_whose_end_is_not_reached_lets_go_of_its_clients(monkeypatch):
    monkeypatch.setattr("connect.kafka.log.kv_log.partitions_of", lambda *_: [0])
    log = KeyValueLog("t", SETTINGS, on_record=planted)
    with pytest.raises(RetriableError):
        log.start(Deadline.after(0.2))
    assert not log._thread.is_alive()


def test_a_topic_whose_consumer_cannot_be_made_has_none_to_close(monkeypatch):
    monkeypatch.setattr(batch_consumer, "Subscription", planted)
    records = KafkaTopicRecords("t", SETTINGS)
    with pytest.raises(RuntimeError, match="planted"):
        records.poll(Deadline.after(1))
    records.close()
