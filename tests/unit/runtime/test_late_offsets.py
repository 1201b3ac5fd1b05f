"""An offset that a task could not store in time is not stored once the task has ended. No broker is needed for that."""

from __future__ import annotations

from concurrent.futures import Future

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeProducer

from connect.api.errors import RetriableError
from connect.api.records import SourcePosition
from connect.kafka.log.kv_log import KeyValueLog
from connect.kafka.produce.shared_producer import SharedProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.offset_records import OffsetTable
from connect.runtime.source.offset_store import OffsetStore, SourceOffsets

AWAY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


class Log(KeyValueLog):
    """The offsets topic of a host, of brokers that are away; it tells which records it was given."""

    def __init__(self, shared: SharedProducer) -> None:
        super().__init__("offsets", {**AWAY, "group.id": "g"}, shared, on_record=lambda *record: None)
        self.given: list[Future[None]] = []
        self.given_up = 0

    def put(self, key: bytes, value: bytes | None) -> Future[None]:
        self.given.append(super().put(key, value))
        return self.given[-1]

    def give_up(self, reason: str) -> None:
        self.given_up += 1
        super().give_up(reason)


@pytest.fixture
def log():
    shared = SharedProducer(AWAY)
    log = Log(shared)
    yield log
    shared.give_up("the end of a test")
    shared.close(0.0)


def delivery_of(log: Log, name: str = "c") -> AtLeastOnceDelivery:
    store = OffsetStore(log, OffsetTable(), "offsets")
    return AtLeastOnceDelivery(FakeProducer(FakeKafka()), SourceOffsets(name, store))


def leave_one_late(delivery: AtLeastOnceDelivery, n: int) -> None:
    rows = [RawBatch("t", pa.array([b"row"], pa.binary()))]
    delivery.send(rows, [SourcePosition({"p": 1}, {"n": n})], Deadline.after(1), meanwhile=lambda: None)
    with pytest.raises(RetriableError, match="not acknowledged in time"):
        delivery.drain(Deadline.after(0.05))


def test_an_offset_that_is_late_when_its_task_ends_is_never_stored(log):
    delivery = delivery_of(log)
    leave_one_late(delivery, 1)
    leave_one_late(delivery, 2)
    assert not any(written.done() for written in log.given)
    delivery.close()
    assert [type(written.exception(30)) for written in log.given] == [RetriableError, RetriableError]


def test_other_tasks_pay_once_for_offsets_that_are_late(log):
    late, neighbour = delivery_of(log), delivery_of(log, "d")
    leave_one_late(late, 1)
    leave_one_late(neighbour, 1)
    late.close()
    neighbour.close()
    delivery_of(log).close()
    assert log.given_up == 1
