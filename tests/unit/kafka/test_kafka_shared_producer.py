"""A client that is replaced while others send: each record is heard of once. No broker is needed for that."""

import itertools
import sys
import threading

import pytest
from confluent_kafka import Producer

from connect.api.errors import RetriableError
from connect.kafka.log.kv_writer import RecordWriter
from connect.kafka.produce import shared_producer
from connect.kafka.produce.shared_producer import SharedProducer

SENDERS, REPLACEMENTS = 3, 300


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.thorough
@pytest.mark.usefixtures("many_switches")
def test_every_record_is_heard_of_although_the_client_is_replaced_meanwhile():
    producer = SharedProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    sent, heard, enough = [], [], threading.Event()

    def send(sender):
        for number in itertools.count():
            if enough.is_set():
                return
            sent.append(key := b"%d-%d" % (sender, number))
            producer.produce("t", b"", key, lambda _, message: heard.append(message.key()))

    senders = [threading.Thread(target=send, args=(sender,)) for sender in range(SENDERS)]
    for thread in senders:
        thread.start()
    for _ in range(REPLACEMENTS):
        producer.give_up("a test")
    enough.set()
    for thread in senders:
        thread.join(30)
    producer.give_up("the end of a test")
    producer.close(0.0)

    assert len(sent) > REPLACEMENTS
    assert sorted(heard) == sorted(sent)


def test_a_record_that_was_given_up_with_a_neighbours_rows_may_be_written_again():
    """Offsets go through the client that small tasks share. Their task stores them with the next flush."""
    producer = SharedProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    stored = RecordWriter("offsets", producer).put(b"k", b"v")
    producer.give_up("a neighbour ended")
    with pytest.raises(RetriableError, match="A record for topic offsets was given up"):
        stored.result(30)
    producer.close(0.0)


class CountedPolls(Producer):
    polls = 0

    def poll(self, timeout):
        self.polls += 1
        return super().poll(timeout)


def test_a_client_with_nothing_on_its_way_wakes_nobody_and_tells_of_a_record_at_once(monkeypatch):
    monkeypatch.setattr(shared_producer, "Producer", CountedPolls)
    monkeypatch.setattr(shared_producer, "_IDLE_S", 3600.0)
    producer = SharedProducer({"client.id": "without brokers", "log_level": 0, "message.timeout.ms": 50})
    heard = threading.Event()
    assert not heard.wait(2.0)
    assert producer._client.polls == 0
    for _ in range(2):
        producer.produce("t", b"", b"k", lambda *_: heard.set())
        assert heard.wait(30), "the report waits for the next look at a client that is idle"
        heard.clear()
    producer.close(0.0)
