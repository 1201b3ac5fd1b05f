"""A sink that asks for a flush is flushed when it said, without rows and long before the interval."""

from __future__ import annotations

import time
from itertools import chain, repeat

import pytest
from fake_kafka import FakeConsumer, FakeKafka
from test_sink_loop_retries import CONFIG, GOOD, LOG

from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.task.condition import Conditions
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports


class AskingTask:
    """Asks, within each flush but the third, for the next; the third ends the run."""

    def __init__(self, control):
        self.control = control
        self.loop = None
        self.flushes = []

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        self.loop.commits.request(within_s=0.05)
        self.loop.commits.request(within_s=30.0)  # a later moment does not take the place of a sooner one

    def flush(self, deadline):
        self.flushes.append(time.monotonic())
        if len(self.flushes) == 3:
            self.control.ask_to_stop()
        else:
            self.loop.commits.request(within_s=0.05)
        return {GOOD: 5}


def loop_of(task, kafka, *, flush_interval_s=60.0, conditions=None):
    consumer = FakeConsumer(kafka, task.control, LOG, reads=chain([5], repeat(0)))
    tolerance = Tolerance(SinkConnectorConfig.parse(CONFIG), TaskFigures(), None)
    pipeline = SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up)
    path = SinkRecordPath(task, "Sink", pipeline, tolerance, RetryBudget(0))
    reports = TaskReports() if conditions is None else TaskReports(conditions=conditions)
    return SinkLoop(consumer, path, SinkLimits(flush_interval_s, 1, 0.01, max_records=100, put_timeout_s=1), reports)


class KeepingTask(AskingTask):
    """Keeps its rows, and asks for another flush within so many seconds, None: not at all. The fifth ends the run."""

    def __init__(self, control, asks_within_s):
        super().__init__(control)
        self.asks_within_s = asks_within_s

    def put(self, batch, deadline):
        pass

    def flush(self, deadline):
        self.flushes.append(time.monotonic())
        if len(self.flushes) == 5:
            self.control.ask_to_stop()
        if self.asks_within_s is not None:
            self.loop.commits.request(within_s=self.asks_within_s)
        return {}


@pytest.mark.parametrize(("asks_within_s", "told"), [(None, True), (3600.0, True), (0.01, False)])
def test_rows_wait_for_more_rows_only_where_the_sink_does_not_ask_to_write_them(asks_within_s, told):
    control, heard = Control(), []
    task = KeepingTask(control, asks_within_s)
    task.loop = loop_of(task, FakeKafka(), flush_interval_s=0.02, conditions=Conditions(heard.append))
    task.loop.run(control, lambda paused: None, ["t"])
    reasons = [condition.reason for condition in heard if condition is not None]
    assert any("keeps 10 rows" in reason for reason in reasons) == told


def test_a_sink_is_flushed_when_it_asked_for_it():
    kafka, control = FakeKafka(), Control()
    task = AskingTask(control)
    task.loop = loop_of(task, kafka)
    started_s = time.monotonic()
    task.loop.run(control, lambda paused: None, ["t"])
    assert len(task.flushes) == 4  # the last as it stops
    assert task.flushes[0] - started_s >= 0.05
    assert task.flushes[2] - task.flushes[0] >= 0.1
    assert kafka.committed == {GOOD: 5}
