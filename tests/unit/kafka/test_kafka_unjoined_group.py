"""Checks that readers by assignment need no right to the group that librdkafka makes them name; others are told what to
grant.
"""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message

from connect.api.records import TopicPartition
from connect.kafka.client.errors import DeniedError
from connect.kafka.consume import log_reader
from connect.kafka.consume.columns import PolledBatches, ReadError
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.log.kv_log import KeyValueLog
from connect.lib.deadline import Deadline

SETTINGS = {"bootstrap.servers": "k1:9092", "sasl.username": "me", "group.id": "reader"}
GROUP, TOPIC = (KafkaError(code) for code in (KafkaError.GROUP_AUTHORIZATION_FAILED, 29))
PLACE = TopicPartition("t", 0)
SPAN = {PLACE: OffsetRange(0, 1)}


def told_by(error):
    """A message of librdkafka that tells an error, or the end of a partition."""
    return Message(topic=PLACE.topic, partition=PLACE.partition, offset=1, error=error)


class Telling:
    """A consumer that tells these errors, one at a time, then the end of its partition."""

    def __init__(self, *errors):
        self._messages = [told_by(error) for error in (*errors, KafkaError(KafkaError._PARTITION_EOF))]

    def assign(self, _partitions):
        pass

    def consume(self, _most, _timeout_s):
        return [self._messages.pop(0)]

    def close(self):
        pass


@pytest.fixture
def telling(monkeypatch):
    return lambda *errors: monkeypatch.setattr(log_reader, "Consumer", lambda *_, **__: Telling(*errors))


def test_a_span_is_read_without_a_right_to_a_group(telling):
    telling(GROUP)
    assert list(read_spans(SETTINGS, SPAN, Deadline.after(5))) == []


def test_a_span_whose_topic_is_denied_tells_the_command(telling):
    telling(TOPIC)
    with pytest.raises(DeniedError, match=r"--allow-principal User:me --operation Read --topic t"):
        list(read_spans(SETTINGS, SPAN, Deadline.after(5)))


def test_a_log_that_is_followed_reports_no_group():
    told = []
    log = KeyValueLog("t", {}, on_record=lambda *_: None, on_error=told.append)
    log._take([told_by(GROUP)])
    log._on_client_error(GROUP)
    assert (told, log.last_error) == ([], None)
    log._take([told_by(TOPIC)])
    assert len(told) == 1


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_a_consumer_needs_a_group_only_where_it_joins_one(is_by_hand):
    consumer = BatchConsumer({**SETTINGS, "bootstrap.servers": "127.0.0.1:1"})
    if is_by_hand:
        consumer.assign({PLACE: 0})
    consumer._batches(PolledBatches(batches=[], errors=[ReadError(GROUP, None, -1001)], ends={}))
    if is_by_hand:
        consumer._failures.raise_first()
    else:
        with pytest.raises(DeniedError, match="--operation Read --group reader"):
            consumer._failures.raise_first()
    consumer.close(Deadline.after(0.1))
