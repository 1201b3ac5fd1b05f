"""Checks that a consumer without rows hardly ever wakes up, and still does at once what it is asked."""

import threading
from contextlib import contextmanager

import pytest
from kafka_drive import Member, in_s, send

from connect import native
from connect.kafka.consume.columnar_reads import ColumnarReads
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)


@pytest.fixture(autouse=True)
def only_events_end_waits(monkeypatch):
    """Have waits last longer than any test."""
    monkeypatch.setattr(ColumnarReads, "most_wait_s", 600.0)


@pytest.fixture
def idle(clients, topic_name):
    """Return a member of a group that has read all rows of both partitions, and the topic."""
    topic = clients.topic(topic_name, 2)
    send(clients, topic, [b"a"] * 10)
    member = Member(clients.consumer(f"{topic}-group"), [topic])
    member.until(lambda: len(member.values) == 10)
    return member, topic


@contextmanager
def polling(member):
    """Poll on a thread meanwhile, until a row comes or the test ends the poll."""
    stop = threading.Event()
    found = []
    thread = threading.Thread(target=lambda: found.extend(member.consumer.poll(100, Deadline.after(600.0, stop))))
    thread.start()
    try:
        yield found, thread
    finally:
        stop.set()
        member.consumer.wake()
        thread.join(60)
        assert not thread.is_alive(), "a call of wake ends the wait"


def test_an_idle_consumer_waits_until_something_comes(idle, monkeypatch):
    member, _ = idle
    takes = []
    monkeypatch.setattr(member.consumer._reads, "_take", counted(member.consumer._reads._take, takes))
    member.poll(3.0)
    assert len(takes) <= 6, "ten a second would keep a host busy that has hundreds of idle sinks"


def test_a_row_ends_the_wait(idle, clients):
    member, topic = idle
    with polling(member) as (found, thread):
        send(clients, topic, [b"b"])
        thread.join(60)
        assert [b.values.to_pylist() for b in found] == [[b"b"]]


def test_a_rebalance_is_served_within_the_wait(idle, clients):
    member, topic = idle
    other = Member(clients.consumer(f"{topic}-group"), [topic])
    with polling(member):
        other.until(other.consumer.assignment)
    assert "revoked" in dict(member.events), member.events


def test_a_call_of_wake_before_the_wait_ends_it(idle):
    member, _ = idle
    stop = threading.Event()
    stop.set()
    member.consumer.wake()
    assert member.consumer._reads._arrivals.wait(600.0)
    member.consumer.close(in_s(60))
    member.consumer.wake()


def counted(function, calls):
    def call(*args):
        calls.append(args)
        return function(*args)

    return call
