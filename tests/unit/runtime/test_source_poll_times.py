"""A source that waits in its poll without heed to a stop still ends within task.shutdown.graceful.timeout.ms."""

from __future__ import annotations

import time

import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer

from connect.lib.deadline import Deadline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.loop_limits import source_limits
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import IDLE_POLLS, SourceLoop
from connect.runtime.task.control import Control
from connect.runtime.task.task_reports import TaskReports

WORKER = {
    "bootstrap.servers": "k:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": "JsonConverter", "value.converter": "JsonConverter",
}  # fmt: skip
CONFIG = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}


class Idle:
    """Gives nothing, and notes for how long each of its polls may wait."""

    def __init__(self, control: Control) -> None:
        self.control, self.waits_s = control, list[float]()

    def poll(self, deadline: Deadline) -> None:
        self.waits_s.append(deadline.at_s - time.monotonic())
        if len(self.waits_s) > 2 * IDLE_POLLS:
            self.control.ask_to_stop()


@pytest.mark.parametrize(("graceful_ms", "longest_s"), [("5000", 3.0), ("1000", 0.6), ("500", 0.3), ("1", 0.1)])
def test_a_poll_leaves_time_to_stop(graceful_ms: str, longest_s: float) -> None:
    worker = WorkerConfig.parse({**WORKER, "task.shutdown.graceful.timeout.ms": graceful_ms})
    config = SourceConnectorConfig.parse(CONFIG)
    control, reports, kafka = Control(), TaskReports(), FakeKafka()
    task = Idle(control)
    path = SourceRecordPath(task, "Source", None, None, RetryBudget(0), reports.figures)
    delivery = AtLeastOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka))
    limits = source_limits(worker, config, exactly_once=False)
    SourceLoop(path, delivery, None, limits, reports).run(control, lambda _: None)
    assert longest_s - 0.05 <= max(task.waits_s) <= longest_s
