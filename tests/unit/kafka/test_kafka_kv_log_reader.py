"""The reader of a compacted log when the client fails between two records: what was read is taken in."""

from __future__ import annotations

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from connect.api.errors import RetriableError
from connect.kafka.log.kv_log import KeyValueLog
from connect.lib.deadline import Deadline


class Read:
    """A message as confluent_kafka has it."""

    def error(self):
        return None

    def key(self):
        return b"k"

    def value(self):
        return b"v"

    def partition(self):
        return 0

    def offset(self):
        return 7

    def timestamp(self):
        return 1, 1000


def test_a_record_is_taken_in_although_the_next_call_fails():
    class Failing:
        def poll(self, timeout_s):
            return Read()

        def consume(self, most, timeout_s):
            log._stop.set()
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    taken, told = [], []
    log = KeyValueLog("t", {}, on_record=lambda *record: taken.append(record), on_error=told.append)
    log._consumer = Failing()
    log._read()
    assert taken == [(b"k", b"v", 0, 7, 1000)]
    assert len(told) == 1


def test_what_was_written_is_read_back_without_a_question_to_the_brokers():
    log = KeyValueLog("t", {}, on_record=lambda *_: None)
    log._admin = None
    log._positions = {0: 7}
    log.read_back(Deadline.after(0))
    log._wrote(0, 7)
    with pytest.raises(RetriableError, match="partition 0 at offset 7 of 8"):
        log.read_back(Deadline.after(0.01))
    log._take([Read()])
    log.read_back(Deadline.after(0))


def test_a_topic_made_anew_is_read_back_by_what_was_written_into_it():
    log = KeyValueLog("t", {}, on_record=lambda *_: None)
    log._positions = {0: 0}
    log._wrote(0, 4711)
    log._wrote(0, 7)
    log._take([Read()])
    log.read_back(Deadline.after(0))


def test_a_record_that_no_broker_placed_is_read_back_to_the_end(monkeypatch):
    log = KeyValueLog("t", {}, on_record=lambda *_: None)
    asked = []
    monkeypatch.setattr(log, "read_to_end", asked.append)
    log._wrote(0, OFFSET_INVALID)
    deadline = Deadline.after(0)
    log.read_back(deadline)
    assert asked == [deadline]
