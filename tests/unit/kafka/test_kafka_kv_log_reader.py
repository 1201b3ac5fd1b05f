"""Lets the client of a compacted log's reader fail between two records: what was read is taken in."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from connect.api.errors import RetriableError
from connect.kafka.client.errors import DeniedError
from connect.kafka.log import kv_log
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


class Counts:
    """An admin client whose brokers tell this number of partitions, and that each ends at offset 0."""

    def __init__(self, count):
        self.count = count

    def partition_count(self, topic, deadline):
        return self.count

    def end_offsets(self, places, deadline, *, committed_only):
        return dict.fromkeys(places, 0)


@pytest.mark.parametrize("error", [RetriableError("away"), DeniedError("denied")])
def test_records_are_given_also_while_added_partitions_cannot_be_looked_up(monkeypatch, error):
    class Idle:
        def poll(self, timeout_s):
            log._stop.set()
            return Read()

        def consume(self, most, timeout_s):
            return []

    def looked_up(*_):
        looks.append(1)
        if len(looks) > 3:
            log._stop.set()
        raise error

    looks, taken, told = [], [], []
    log = KeyValueLog("t", {}, on_record=lambda *record: taken.append(record), on_error=told.append)
    log._consumer, log._added, log._positions = Idle(), [1], {0: 7}
    monkeypatch.setattr(kv_log, "partitions_of", looked_up)
    log._read()
    assert (len(looks), len(taken), len(told)) == (1, 1, 1 if isinstance(error, DeniedError) else 0)
    assert log._added == [1], "it is looked up again"


def test_the_ends_are_asked_while_partitions_are_added():
    class Growing(dict):
        """Another thread may add a member while the names are listed, unless it has to wait for the lock."""

        def __iter__(self):
            other = threading.Thread(target=added)
            other.start()
            other.join(0.05)
            return super().__iter__()

    def added():
        with log._moved:
            log._positions[1] = 0

    log = KeyValueLog("t", {}, on_record=lambda *_: None)
    log._admin, log._positions = Counts(1), Growing({0: 0})
    assert log._ends(Deadline.after(0), committed_only=False).keys() == {0}
