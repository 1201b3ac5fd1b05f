"""Checks which rows are in Kafka, told per send, on each way into librdkafka, here with its own mock brokers."""

import ctypes

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Producer

from connect import native
from connect.api.errors import ConnectError
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import library
from connect.kafka.produce.pooled_producer import PooledProducer, ProducerPool
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch, SharedHeaders
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.thorough
SETTINGS = {"acks": "all", "enable.idempotence": True, "linger.ms": 0}
PATHS = ["columnar", "columnar, copying", "plain", "pooled"]
TIMES = pa.array([1_700_000_000_000], pa.int64())
FORMS = {
    "plain": {},
    "with headers and times": {"headers": [[("h", b"1")]], "timestamps_ms": TIMES},
    "with shared headers": {"headers": SharedHeaders((("h", b"1"), ("none", None)), 1)},
}


class Sender:
    """A producer, and the mock brokers that it sends to.

    At first nobody leads the topic `other`, and no client has heard of it: librdkafka's mock broker ends the process
    (it reads the id of the leader) when rows come for a partition that has lost its leader.
    """

    def __init__(self, path):
        self._lib = library()
        for function in ("rd_kafka_handle_mock_cluster", "rd_kafka_mock_cluster_bootstraps"):
            getattr(self._lib, function).restype = ctypes.c_void_p
        self._host = Producer({"test.mock.num.brokers": 1})
        self._brokers = ctypes.c_void_p(self._lib.rd_kafka_handle_mock_cluster(client_of(self._host)))
        for topic in ("free", "other"):
            self._lib.rd_kafka_mock_topic_create(self._brokers, topic.encode(), 1, 1)
        self.set_leader(-1)
        addresses = ctypes.string_at(self._lib.rd_kafka_mock_cluster_bootstraps(self._brokers)).decode()
        settings = {**SETTINGS, "bootstrap.servers": addresses}
        if path == "pooled":
            self.producer = PooledProducer(ProducerPool(), settings, settings)
        else:
            self.producer = BatchProducer({**settings, "producer.path": path})

    def set_leader(self, broker):
        """Of the topic `other`; -1: nobody leads it."""
        assert self._lib.rd_kafka_mock_partition_set_leader(self._brokers, b"other", 0, broker) == 0

    def refuse(self, code):
        """Rows for the topic `other`, from the next time that a client asks who leads it."""
        self._lib.rd_kafka_mock_topic_set_error(self._brokers, b"other", code)

    def send(self, topic, rows=1, **form):
        receipt = Receipt()
        batch = RawBatch(topic, pa.array([b"row"] * rows, pa.binary()), **form)
        self.producer.send(batch, Deadline.after(60), receipt)
        return receipt

    def wait_until(self, condition):
        deadline = Deadline.after(60)
        while not condition():
            self.producer.check()
            assert deadline.wait(0.002)


@pytest.fixture(params=PATHS)
def sender(request, monkeypatch):
    name, _, copying = request.param.partition(", ")
    if copying:
        monkeypatch.setattr(native, "module", lambda: None)
    elif name == "columnar" and native.module() is None:
        pytest.skip("NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install")
    sender = Sender(name)
    yield sender
    sender.producer.close()


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_one_topic_are_told_of_while_those_of_another_wait(sender, form):
    waiting = sender.send("other", **FORMS[form])
    for _ in range(3):
        sent = sender.send("free", **FORMS[form])
        sender.wait_until(lambda sent=sent: sent.is_settled)
    assert not waiting.is_settled
    sender.set_leader(1)
    sender.wait_until(lambda: waiting.is_settled)


@pytest.mark.parametrize("form", FORMS)
def test_a_receipt_with_a_row_that_failed_is_never_settled(sender, form):
    failed = sender.send("other", **FORMS[form])
    # Only now: a client that knew of the refusal would not take the row.
    sender.refuse(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    sent = sender.send("free", **FORMS[form])
    with pytest.raises(ConnectError, match="writing to topic other"):
        sender.wait_until(lambda: failed.is_settled)
    while not sent.is_settled:
        with pytest.raises(ConnectError, match="writing to topic other"):
            sender.producer.check()
    assert not failed.is_settled


def test_one_receipt_may_tell_of_several_sends(sender):
    receipt = sender.send("other")
    batch = RawBatch("free", pa.array([b"row"] * 5, pa.binary()))
    sender.producer.send(batch, Deadline.after(60), receipt)
    sender.wait_until(lambda: sender.producer.outstanding == 1)
    assert not receipt.is_settled
    sender.set_leader(1)
    sender.wait_until(lambda: receipt.is_settled)
