"""A sink that asks for a flush is flushed when it said, without rows and long before the interval."""

from __future__ import annotations

import time
from itertools import chain, repeat

from fake_kafka import FakeConsumer, FakeKafka
from test_sink_loop_retries import CONFIG, GOOD, LOG

from connect.plugins import Catalog
from connect.runtime.build import build_converters
from connect.runtime.connector_config import SinkConnectorConfig
from connect.runtime.control import Control
from connect.runtime.figures import TaskFigures
from connect.runtime.pipeline import SinkPipeline
from connect.runtime.retry import RetryBudget
from connect.runtime.sink_loop import SinkLoop
from connect.runtime.tolerance import Tolerance
from connect.runtime.used_topics import UsedTopics


class AskingTask:
    """Asks, within each flush but the third, for the next; the third ends the run."""

    def __init__(self, control):
        self.control = control
        self.loop = None
        self.flushes = []

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        self.loop.request_flush(within_s=0.05)
        self.loop.request_flush(within_s=30.0)  # a later moment does not take the place of a sooner one

    def flush(self, deadline):
        self.flushes.append(time.monotonic())
        if len(self.flushes) == 3:
            self.control.ask_to_stop()
        else:
            self.loop.request_flush(within_s=0.05)
        return {GOOD: 5}


def test_a_sink_is_flushed_when_it_asked_for_it():
    kafka, control = FakeKafka(), Control()
    consumer = FakeConsumer(kafka, control, LOG, reads=chain([5], repeat(0)))
    task = AskingTask(control)
    tolerance = Tolerance(SinkConnectorConfig.parse(CONFIG), TaskFigures(), None)
    task.loop = SinkLoop(
        task, consumer, task_class="Sink", dead_letters=None, tolerance=tolerance,
        pipeline=SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up),
        figures=TaskFigures(), max_records=100, put_timeout_s=1, flush_interval_s=60, flush_timeout_s=1,
        retry_delay_max_s=0.01, used_topics=UsedTopics(), retries=RetryBudget(0),
    )  # fmt: skip
    started_s = time.monotonic()
    task.loop.run(control, lambda paused: None, ["t"])
    assert len(task.flushes) == 4  # the last as it stops
    assert task.flushes[0] - started_s >= 0.05
    assert task.flushes[2] - task.flushes[0] >= 0.1
    assert kafka.committed == {GOOD: 5}
