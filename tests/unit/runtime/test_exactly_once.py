import pyarrow as pa
import pytest

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.kafka.errors import AbortableError
from connect.kafka.raw import RawBatch
from connect.runtime.clients import Clients
from connect.runtime.delivery import ExactlyOnceDelivery
from connect.runtime.exactly_once import Boundary, ConnectorTransactions, uses_transactions
from connect.runtime.messages import TaskId
from connect.runtime.worker_config import WorkerConfig

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


class Producer:
    """Keeps what would be read by readers of committed records."""

    def __init__(self):
        self.committed, self.open, self.calls, self.fails = [], None, [], False

    def begin(self):
        assert self.open is None
        self.open = []
        self.calls.append("begin")

    def send(self, batch, deadline):
        self.open += [(batch.topic, value.decode()) for value in batch.values.to_pylist()]

    def commit(self, deadline):
        if self.fails:
            raise RetriableError("away")
        self.committed += self.open
        self.open = None
        self.calls.append("commit")

    def abort(self, deadline):
        if self.fails:
            raise RetriableError("away")
        self.open = None
        self.calls.append("abort")

    def check(self):
        pass


class Offsets:
    topic = "offsets"

    def __init__(self):
        self.copied = []

    def key(self, position):
        return repr(position.partition).encode()

    def batch(self, positions):
        return RawBatch(self.topic, pa.array([str(p.offset["n"]).encode() for p in positions], pa.binary()))

    def copy(self, positions):
        self.copied += [p.offset["n"] for p in positions]


@pytest.fixture
def producer():
    return Producer()


@pytest.fixture
def offsets():
    return Offsets()


def in_s(seconds=5):
    return Deadline.after(seconds)


def send(delivery, n):
    position = SourcePosition({"p": 1}, {"n": n + 1})
    delivery.send([RawBatch("t", pa.array([str(n).encode()], pa.binary()))], position, in_s())


def test_a_boundary_is_every_poll_or_every_interval(producer, offsets):
    poll, interval = (ExactlyOnceDelivery(producer, offsets, b) for b in (Boundary.POLL, Boundary.INTERVAL))
    assert poll.due(polled=True, interval_over=False)
    assert not poll.due(polled=False, interval_over=True)
    assert interval.due(polled=False, interval_over=True)
    assert not interval.due(polled=True, interval_over=False)


def test_the_last_offset_of_each_partition_goes_with_the_rows(producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.INTERVAL)
    send(delivery, 0)
    send(delivery, 1)
    assert [p.offset for p in delivery.flush(in_s())] == [{"n": 2}]
    assert producer.committed == [("t", "0"), ("t", "1"), ("offsets", "2")]
    assert offsets.copied == [2]
    assert delivery.flush(in_s()) == []
    assert producer.calls == ["begin", "commit"]


def test_a_connectors_transaction_ends_when_it_says_so_only(producer, offsets):
    wishes = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, wishes)
    send(delivery, 0)
    assert not delivery.due(polled=True, interval_over=True)
    assert delivery.flush(in_s()) == []  # as when a task stops or is paused
    wishes.commit()
    assert delivery.due(polled=False, interval_over=False)
    assert [p.offset for p in delivery.flush(in_s())] == [{"n": 1}]
    assert not delivery.due(polled=True, interval_over=True)
    assert producer.committed == [("t", "0"), ("offsets", "1")]


def test_an_aborted_transaction_leaves_its_offset_alone(producer, offsets):
    wishes = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, wishes)
    send(delivery, 0)
    wishes.abort()
    wishes.commit()
    assert [p.offset for p in delivery.flush(in_s())] == [{"n": 1}]
    assert producer.committed == [("offsets", "1")]
    assert producer.calls == ["begin", "abort", "begin", "commit"]
    wishes.abort()
    assert delivery.flush(in_s()) == []


def test_what_is_open_in_the_end_is_aborted(producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, ConnectorTransactions())
    delivery.close()
    send(delivery, 0)
    delivery.close()
    assert producer.calls == ["begin", "abort"]
    send(delivery, 1)
    producer.fails = True
    delivery.close()  # brokers that are away do not keep a task from ending


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_transaction_that_does_not_end_in_time_is_given_up(producer, offsets, end):
    wishes = ConnectorTransactions()
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.CONNECTOR, wishes)
    send(delivery, 0)
    getattr(wishes, end)()
    producer.fails = True
    with pytest.raises(AbortableError, match="in time"):
        delivery.flush(in_s())
    assert producer.committed == []


def test_rows_for_the_offsets_topic_are_refused(producer, offsets):
    delivery = ExactlyOnceDelivery(producer, offsets, Boundary.POLL)
    with pytest.raises(ConnectError, match="may not produce to their own offsets topics"):
        delivery.send([RawBatch("offsets", pa.array([b"x"], pa.binary()))], None, in_s())
    assert producer.calls == []


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
    monkeypatch.setattr("connect.runtime.clients.BatchProducer", made.append)
    clients = Clients(WorkerConfig.parse({**WORKER, **worker}), None)
    clients.transactional_producer(TaskId("c", 0), connector, open_s)
    assert made[0].get(KEY) == expected
