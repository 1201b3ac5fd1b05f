"""Checks on real Kafka that a sink task and its group are not behind once every row that can be read is written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from kafka_drive import in_s, send, transactions

from connect.api.records import TopicPartition
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports

STRING = "org.apache.kafka.connect.storage.StringConverter"
CONFIG = {"name": "n", "connector.class": "c", "topics": "t", "key.converter": STRING, "value.converter": STRING}


class Target(NamedTuple):
    """A sink that has `rows` durable once it has taken them; it takes none while `is_full`."""

    rows: list[str]
    claims: dict[TopicPartition, int]
    is_full: threading.Event

    def put(self, batch, _deadline):
        self.rows.extend(batch.values.rows())
        self.claims[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, _deadline):
        return {} if self.is_full.is_set() else dict(self.claims)

    def assigned(self, _partitions):
        self.claims.clear()

    def revoked(self, _partitions):
        self.claims.clear()


def new_target() -> Target:
    return Target([], {}, threading.Event())


@contextmanager
def running(consumer, target: Target, topic: str, control: Control | None = None) -> Iterator[TaskFigures]:
    """Run a sink task; its figures."""
    control, figures = control or Control(), TaskFigures()
    tolerance = Tolerance(SinkConnectorConfig.parse(CONFIG), figures, None)
    pipeline = SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up)
    path = SinkRecordPath(target, "Sink", pipeline, tolerance, RetryBudget(0), None)
    loop = SinkLoop(consumer, path, SinkLimits(0.5, 30, 1, max_records=1000, put_timeout_s=30), TaskReports(figures))
    thread = threading.Thread(target=loop.run, args=(control, lambda _: None, [topic]))
    thread.start()
    try:
        yield figures
    finally:
        control.ask_to_stop()
        thread.join(60)
        consumer.close(in_s(60))


class StuckTarget(Target):
    """Its put returns once `is_full` is cleared, as that of a target that has taken the connection and says nothing."""

    def put(self, batch, deadline):
        for _ in range(3_000):
            if not self.is_full.is_set():
                break
            deadline.wait(0.02)
        super().put(batch, deadline)


def eventually(condition) -> None:
    deadline = in_s(60)
    while not condition():
        assert deadline.wait(0.1), "it does not come"


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_rows_of_aborted_transactions_and_marks_are_committed(clients, topic_name, unique, path):
    tp, target = TopicPartition(clients.topic(topic_name), 0), new_target()
    write = transactions(clients, topic_name, unique)

    def committed():
        return clients.admin().group_offsets(unique, in_s(60)).get(tp)

    write(2, "commit")
    write(1_000, "abort")
    with running(clients.consumer(unique, path=path), target, topic_name) as figures:
        eventually(lambda: committed() == 1_004)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
        assert figures.snapshot()["lag_s"] == 0
        write(3, "abort")
        eventually(lambda: committed() == 1_008)
        target.is_full.set()
        write(4, "commit")
        eventually(lambda: len(target.rows) == 6)
        eventually(lambda: figures.snapshot()["lag_rows"] == 5)
        assert committed() == 1_008, "rows before the mark are not durable"
        target.is_full.clear()
        eventually(lambda: committed() == 1_013)
    write(9, "abort")
    with running(clients.consumer(unique, path=path), target, topic_name):
        eventually(lambda: committed() == 1_023)
    assert target.rows == ["0", "1", "0", "1", "2", "3"]


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_rows_that_come_while_a_put_does_not_return_are_lag(clients, topic_name, unique, path):
    tp, target = TopicPartition(clients.topic(topic_name), 0), StuckTarget([], {}, threading.Event())
    send(clients, topic_name, [b"%d" % i for i in range(20)])
    with running(clients.consumer(unique, path=path), target, topic_name) as figures:
        eventually(lambda: clients.admin().group_offsets(unique, in_s(60)).get(tp) == 20)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
        target.is_full.set()
        send(clients, topic_name, [b"%d" % i for i in range(20, 50)])
        eventually(lambda: figures.snapshot()["lag_rows"] == 30)
        send(clients, topic_name, [b"%d" % i for i in range(50, 120)])
        eventually(lambda: figures.snapshot()["lag_rows"] == 100)
        assert figures.snapshot()["lag_s"] > 1.0
        assert len(target.rows) == 20, "its put has not returned"
        target.is_full.clear()
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
    assert len(target.rows) == 120
