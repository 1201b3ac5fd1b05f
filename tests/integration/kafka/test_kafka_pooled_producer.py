"""Checks the producers of tasks that send little: one client serves many, and no owner pays for another."""

import ctypes
import threading
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pytest
from kafka_clients import Clients

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.admin.topic_changes import TopicChanges
from connect.kafka.client.errors import FatalProducerError, PartlySentError
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import library
from connect.kafka.client.settings import producer_settings
from connect.kafka.log.kv_writer import RecordWriter
from connect.kafka.produce import pooled_producer
from connect.kafka.produce.pooled_producer import LITTLE_ROWS, PooledProducer, ProducerPool
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.tools.services import KafkaService


@pytest.fixture(scope="module")
def strict_kafka():
    """A broker that makes no topics by itself: rows for a topic that is not there wait for it."""
    with KafkaService(properties={"auto.create.topics.enable": "false"}) as service:
        yield service.endpoint


@pytest.fixture
def clients(strict_kafka):
    with ExitStack() as stack:
        yield Clients(strict_kafka, stack)


def in_s(timeout_s):
    return Deadline.after(timeout_s)


@pytest.fixture
def pool():
    return ProducerPool()


@pytest.fixture
def new_owner(clients, pool):
    owners = []

    def make(name="owner", **overrides):
        dotted = {key.replace("_", "."): value for key, value in overrides.items()}
        settings = [
            producer_settings(clients.worker, dotted, client_id=client_id).properties for client_id in ("all", name)
        ]
        owners.append(PooledProducer(pool, *settings))
        return owners[-1]

    yield make
    for owner in owners:
        owner.close()


def serving_threads():
    return [thread for thread in threading.enumerate() if thread.name == "shared-producer"]


def sent(clients, topic, count):
    return [v for batch in clients.read(topic, count) for v in batch.values.to_pylist()]


def end_for_good(shared):
    library().rd_kafka_test_fatal_error.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    library().rd_kafka_test_fatal_error(client_of(shared._client), 45, b"a test says so")


def test_records_come_back_as_they_were_sent(clients, topic_name, new_owner):
    topic = clients.topic(topic_name, 2)
    batch = RawBatch(
        topic,
        values=pa.array([b"v", None, b"", "😀 ключ".encode()], pa.binary()),
        keys=pa.array([b"k", b"k2", b"", None], pa.binary()),
        headers=[[("h", b"1"), ("h", b"2")], [], [("none", None), ("empty", b"")], [("schlüssel", b"\x00")]],
        timestamps_ms=pa.array([0, 1_700_000_000_000, 2, 3], pa.int64()),
        partition=1,
    )
    owner = new_owner()

    owner.send(batch, in_s(60))
    owner.flush(in_s(60))

    (got,) = clients.read(topic, 4)
    assert (got.values, got.keys) == (batch.values, batch.keys)
    assert got.timestamps_ms.to_pylist() == [1, 1_700_000_000_000, 2, 3]  # librdkafka takes 0 for none
    assert [list(h) for h in got.headers] == [list(h) for h in batch.headers]
    assert got.partition == 1


def test_a_partition_that_was_added_meanwhile_is_written_to(clients, topic_name, new_owner, values):
    topic = clients.topic(topic_name)
    owner = new_owner()
    owner.send(values(topic, [b"a"]), in_s(60))
    owner.flush(in_s(60))
    TopicChanges(clients.worker).widen(topic, 2, in_s(60))

    owner.send(replace(values(topic, [b"b"]), partition=1), in_s(60))
    owner.flush(in_s(60))

    assert sorted(sent(clients, topic, 2)) == [b"a", b"b"]
    with pytest.raises(ConnectError, match="Unknown partition"):
        owner.send(replace(values(topic, [b"c"]), partition=7), in_s(60))


def test_many_that_send_little_need_one_client(clients, topic_name, new_owner, values):
    topic = clients.topic(topic_name)
    before = len(serving_threads())
    owners = [new_owner(f"owner-{i}") for i in range(20)]
    for number, owner in enumerate(owners):
        owner.send(values(topic, [b"%d" % number] * 3), in_s(60))
    for owner in owners:
        owner.flush(in_s(60))

    assert sorted(sent(clients, topic, 60)) == sorted(b"%d" % i for i in range(20) for _ in range(3))
    assert len(serving_threads()) == before + 1
    for owner in owners:
        owner.close()
    assert len(serving_threads()) == before


def test_nobody_waits_for_rows_of_another(clients, topic_name, new_owner, values):
    stuck_topic, topic = f"{topic_name}-later", clients.topic(topic_name)
    stuck, well = new_owner(), new_owner()
    stuck.send(values(stuck_topic, [b"never"] * 5), in_s(60))
    well.send(values(topic, [b"1", b"2"]), in_s(60))

    well.flush(in_s(60))
    with pytest.raises(RetriableError, match="5 rows wait"):
        stuck.flush(in_s(0.2))

    assert (well.outstanding, stuck.outstanding) == (0, 5)


def test_who_leaves_before_its_rows_are_acknowledged_takes_them_along(clients, topic_name, new_owner, values):
    stuck_topic, topic = f"{topic_name}-later", clients.topic(topic_name)
    leaves, waits_too, well = new_owner(), new_owner(), new_owner()
    leaves.send(values(stuck_topic, [b"never"]), in_s(60))
    waits_too.send(values(stuck_topic, [b"read again"]), in_s(60))
    well.send(values(topic, [b"1"]), in_s(60))
    well.flush(in_s(60))

    leaves.close(0.1)
    well.send(values(topic, [b"2"]), in_s(60))
    well.flush(in_s(60))

    with pytest.raises(FatalProducerError, match="shares with other tasks"):
        waits_too.flush(in_s(60))
    assert sent(clients, topic, 2) == [b"1", b"2"]
    waits_too.close()
    clients.topic(stuck_topic)
    again = new_owner()
    again.send(values(stuck_topic, [b"read again"]), in_s(60))
    again.flush(in_s(60))
    assert sent(clients, stuck_topic, 1) == [b"read again"]


def test_a_row_that_is_refused_fails_its_owner_alone(clients, topic_name, new_owner, values):
    small, topic = clients.topic(f"{topic_name}-small", max_message_bytes="1000"), clients.topic(topic_name)
    bad, well = new_owner(), new_owner()
    well.send(values(topic, [b"1"]), in_s(60))
    bad.send(values(small, [bytes(5000)]), in_s(60))

    with pytest.raises(ConnectError, match=f"topic {small} .*5000 bytes"):
        bad.flush(in_s(60))
    bad.close()
    well.send(values(topic, [b"2"]), in_s(60))
    well.flush(in_s(60))

    assert sent(clients, topic, 2) == [b"1", b"2"]


def test_a_client_that_ends_for_good_is_replaced(clients, topic_name, new_owner, values, pool):
    stuck_topic, topic = f"{topic_name}-later", clients.topic(topic_name)
    waits, well = new_owner(), new_owner()
    waits.send(values(stuck_topic, [b"x"]), in_s(60))
    writer = RecordWriter(topic, waits._shared)
    end_for_good(waits._shared)

    with pytest.raises(FatalProducerError):
        waits.flush(in_s(60))
    assert writer.put(b"k", b"1").result(60) is None
    well.send(values(topic, [b"2"]), in_s(60))
    well.flush(in_s(60))

    assert sent(clients, topic, 2) == [b"1", b"2"]


def test_who_sends_much_gets_a_client_alone_and_gives_it_back(clients, topic_name, new_owner, values, monkeypatch):
    topic = clients.topic(topic_name)
    rows = [b"%d" % i for i in range(3 * LITTLE_ROWS)]
    owner = new_owner()
    before = len(serving_threads())

    owner.send(values(topic, rows[:10]), in_s(60))
    assert not owner.is_alone
    owner.send(values(topic, rows[10:]), in_s(60))
    assert owner.is_alone
    assert len(serving_threads()) == before - 1
    owner.flush(in_s(60))
    owner.check()
    assert owner.is_alone
    monkeypatch.setattr(pooled_producer, "ALONE_S", 0.0)
    owner.check()
    assert not owner.is_alone
    owner.send(values(topic, [b"last"]), in_s(60))
    owner.flush(in_s(60))

    assert sent(clients, topic, len(rows) + 1) == [*rows, b"last"]


def test_small_batches_in_quick_succession_are_much(clients, topic_name, new_owner, values):
    owner, topic = new_owner(), clients.topic(topic_name)
    for _ in range(11):
        owner.send(values(topic, [b"x"] * (LITTLE_ROWS // 10)), in_s(60))
    assert owner.is_alone


def test_much_waits_until_little_is_acknowledged(clients, topic_name, new_owner, values):
    topic = topic_name
    batch = values(topic, [b"%d" % i for i in range(2 * LITTLE_ROWS)])
    owner = new_owner()
    owner.send(values(topic, [b"first"]), in_s(60))

    with pytest.raises(PartlySentError, match="No row for topic") as caught:
        owner.send(batch, in_s(0.2))
    assert caught.value.sent == 0
    clients.topic(topic)
    owner.send(batch, in_s(60))
    owner.flush(in_s(60))

    assert sent(clients, topic, 1 + len(batch)) == [b"first", *batch.values.to_pylist()]
