import threading

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.client.errors import AbortableError
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.parts.clients import Clients
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source import transactional_delivery
from connect.runtime.source.exactly_once import Boundary, ConnectorTransactions, uses_transactions
from connect.runtime.source.transactional_delivery import SHARED_S, ExactlyOnceDelivery
from connect.runtime.task.task_id import TaskId

WORKER = {
    "bootstrap.servers": "b:1",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "J",
    "value.converter": "J",
}
SUPPORT = "exactly.once.source.support"


@pytest.mark.parametrize(
    ("worker", "connector", "expected"),
    [
        ({}, {}, False),
        ({}, {"exactly.once.support": "requested"}, False),
        ({}, {"exactly.once.support": "REQUIRED"}, True),
        ({}, {"exactly.once.support": "${env:SUPPORT}"}, True),
        ({SUPPORT: "Enabled"}, {}, True),
        ({SUPPORT: "enabled"}, {"exactly.once.support": "requested"}, True),
        ({SUPPORT: "preparing"}, {}, False),
        ({SUPPORT: "disabled"}, {"exactly.once.support": "requested"}, False),
    ],
)
def test_who_writes_in_transactions(worker, connector, expected):
    assert uses_transactions(WorkerConfig.parse({**WORKER, **worker}), connector) is expected


@pytest.fixture
def kafka():
    return FakeKafka()


@pytest.fixture
def producer(kafka):
    return FakeProducer(kafka)


@pytest.fixture
def offsets(kafka):
    return FakeOffsets(kafka)


def transactions(kafka):
    """Their begins and ends."""
    return [step for step in kafka.steps if step in {"begin", "commit", "abort"}]


def in_s(seconds=5):
    return Deadline.after(seconds)


def send(delivery, n):
    position = SourcePosition({"p": 1}, {"n": n + 1})
    rows = [RawBatch("t", pa.array([str(n).encode()], pa.binary()))]
    delivery.send(rows, [position], in_s(), meanwhile=lambda: None)


def test_a_boundary_is_every_poll_or_every_interval(producer, offsets):
    poll, interval = (ExactlyOnceDelivery(producer, offsets, b) for b in (Boundary.POLL, Boundary.INTERVAL))
    assert poll.due(polled=True, interval_over=False)
    assert not poll.due(polled=False, interval_over=True)
    assert interval.due(polled=False, interval_over=True)
    assert not interval.due(polled=True, interval_over=False)


def test_polls_of_a_source_that_is_behind_share_a_transaction(kafka, producer, offsets):
    behind = [True]
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL, is_behind=lambda: behind[0])
    for n in range(3):
        send(delivery, n)
        assert not delivery.due(polled=True, interval_over=True)
        assert delivery.expects_more
    behind[0] = False
    send(delivery, 3)
    assert delivery.due(polled=True, interval_over=False)
    delivery.drain(in_s())
    assert kafka.records["t"] == [b"0", b"1", b"2", b"3"]
    assert transactions(kafka) == ["begin", "commit"]
    assert not delivery.expects_more


def test_a_delivery_is_settled_once_its_transaction_is_committed_and_told_of(producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.INTERVAL)
    assert delivery.is_settled
    send(delivery, 0)
    assert not delivery.is_settled
    told = delivery.flush(in_s())
    while not told:
        assert not delivery.is_settled
        told = delivery.flush(in_s())
    assert delivery.is_settled


def test_a_delivery_is_not_settled_while_offsets_wait_for_a_transaction_that_does_not_begin(kafka, producer, offsets):
    ends = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ends)
    send(delivery, 0)
    ends.abort()
    kafka.failures["begin"] = 1
    with pytest.raises(RetriableError, match="begin"):
        delivery.drain(in_s())
    assert not delivery.is_settled, "the offset of the aborted rows is to be stored all the same"


def test_a_delivery_is_not_settled_while_committed_offsets_are_not_told_of(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    send(delivery, 0)
    delivery.flush(in_s())
    kafka.failures["begin"] = 1
    with pytest.raises(RetriableError, match="begin"):
        send(delivery, 1)
    assert not delivery.is_settled
    assert [position.offset for position in delivery.flush(in_s())] == [{"n": 1}]
    assert delivery.is_settled


def test_a_shared_transaction_ends_with_a_poll_that_brings_nothing(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL, is_behind=lambda: True)
    send(delivery, 0)
    assert not delivery.due(polled=True, interval_over=False)
    assert delivery.due(polled=False, interval_over=False)
    delivery.drain(in_s())
    assert kafka.records["t"] == [b"0"]
    assert not delivery.due(polled=False, interval_over=False)


def test_a_shared_transaction_ends_in_time_however_much_there_is(producer, offsets, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(transactional_delivery.time, "monotonic", lambda: now[0])
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL, is_behind=lambda: True)
    send(delivery, 0)
    now[0] += SHARED_S - 0.01
    assert not delivery.due(polled=True, interval_over=False)
    now[0] += 0.01
    assert delivery.due(polled=True, interval_over=False)


def test_the_last_offset_of_each_partition_goes_with_the_rows(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.INTERVAL)
    send(delivery, 0)
    send(delivery, 1)
    assert [p.offset for p in delivery.drain(in_s())] == [{"n": 2}]
    assert (kafka.records["t"], kafka.offsets) == ([b"0", b"1"], {'{"p":1}': {"n": 2}})
    assert [position.offset for position in offsets.copied] == [{"n": 2}]
    assert delivery.drain(in_s()) == []
    assert transactions(kafka) == ["begin", "commit"]


def test_a_connectors_transaction_ends_when_it_says_so_only(kafka, producer, offsets):
    ends = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ends)
    send(delivery, 0)
    assert not delivery.due(polled=True, interval_over=True)
    assert delivery.drain(in_s()) == []  # as when a task stops or is paused
    ends.commit()
    assert delivery.due(polled=False, interval_over=False)
    assert [p.offset for p in delivery.drain(in_s())] == [{"n": 1}]
    assert not delivery.due(polled=True, interval_over=True)
    assert (kafka.records["t"], kafka.offsets) == ([b"0"], {'{"p":1}': {"n": 1}})


def test_an_aborted_transaction_leaves_its_offset_alone(kafka, producer, offsets):
    ends = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ends)
    send(delivery, 0)
    ends.abort()
    ends.commit()
    assert [p.offset for p in delivery.drain(in_s())] == [{"n": 1}]
    assert (kafka.records["t"], kafka.offsets) == ([], {'{"p":1}': {"n": 1}})
    assert transactions(kafka) == ["begin", "abort", "begin", "commit"]
    ends.abort()
    assert delivery.drain(in_s()) == []


def test_what_is_open_in_the_end_is_aborted(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ConnectorTransactions())
    delivery.close()
    send(delivery, 0)
    delivery.close()
    assert transactions(kafka) == ["begin", "abort"]
    send(delivery, 1)
    kafka.failures["abort"] = 1
    delivery.close()  # brokers that are away do not keep a task from ending


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_transaction_that_does_not_end_in_time_is_given_up(kafka, producer, offsets, end):
    ends = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ends)
    send(delivery, 0)
    getattr(ends, end)()
    kafka.failures[end] = 1
    with pytest.raises(AbortableError, match="in time"):
        delivery.drain(in_s())
    assert kafka.records["t"] == []


def test_rows_for_the_offsets_topic_are_refused(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    with pytest.raises(ConnectError, match="may not produce to their own offsets topics"):
        delivery.send([RawBatch("offsets", pa.array([b"x"], pa.binary()))], [], in_s(), meanwhile=lambda: None)
    assert kafka.steps == []


def test_a_transaction_is_committed_while_the_task_goes_on(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    kafka.commits.clear()
    send(delivery, 0)
    assert delivery.flush(in_s()) == []
    delivery.check()
    assert not delivery.due(polled=False, interval_over=False)
    assert kafka.records["t"] == []
    kafka.commits.set()
    wait_until(lambda: delivery.due(polled=False, interval_over=False))
    assert [p.offset for p in delivery.flush(in_s())] == [{"n": 1}]
    assert not delivery.due(polled=False, interval_over=True)


def test_the_next_transaction_begins_when_the_last_one_is_committed(kafka, producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    kafka.commits.clear()
    send(delivery, 0)
    delivery.flush(in_s())
    threading.Timer(0.02, kafka.commits.set).start()
    send(delivery, 1)
    assert transactions(kafka) == ["begin", "commit", "begin"]
    assert [p.offset for p in delivery.drain(in_s())] == [{"n": 2}]
    assert kafka.records["t"] == [b"0", b"1"]


def test_a_task_that_is_stopped_waits_for_no_commit_to_send_more(kafka, producer, offsets, monkeypatch):
    monkeypatch.setattr(transactional_delivery, "ABORT_S", 0.05)
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    kafka.commits.clear()
    send(delivery, 0)
    delivery.flush(in_s(60))
    stopped = Deadline.after(60)
    stopped.stop.set()
    with pytest.raises(AbortableError, match="known to be committed"):
        delivery.send([RawBatch("t", pa.array([b"1"], pa.binary()))], [], stopped, meanwhile=lambda: None)
    delivery.close()
    assert kafka.records["t"] == []


def test_a_batch_that_is_sent_in_part_is_not_sent_again_into_its_transaction(kafka, offsets):
    class Refuses(FakeProducer):
        def send(self, batch, deadline, receipt=None):
            super().send(batch.slice(0, 1), deadline, receipt)
            raise RetriableError("the rest is refused")

    delivery = ExactlyOnceDelivery(Refuses(kafka), offsets, Boundary.POLL)
    with pytest.raises(AbortableError, match="in part"):
        send(delivery, 0)


def wait_until(condition):
    deadline = in_s(60)
    while not condition():
        assert deadline.wait(0.002)


KEY = "transaction.timeout.ms"


@pytest.mark.parametrize(
    ("open_s", "worker", "connector", "expected"),
    [
        (0.0, {}, {}, None),
        (60.0, {}, {}, "120000"),
        (3600.0, {}, {}, "900000"),
        (60.0, {f"producer.{KEY}": "70000"}, {}, "70000"),
        (60.0, {}, {f"producer.override.{KEY}": "80000"}, "80000"),
    ],
)
def test_brokers_wait_longer_than_a_transaction_of_an_interval_is_open(
    monkeypatch, open_s, worker, connector, expected
):
    made = []
    monkeypatch.setattr("connect.runtime.parts.task_producers.BatchProducer", made.append)
    clients = Clients(WorkerConfig.parse({**WORKER, **worker}), None)
    clients.producers.transactional(TaskId("c", 0), connector, open_s)
    assert made[0].get(KEY) == expected
