"""Checks a sink that refuses one partition's rows for long: what it took of the others is committed meanwhile."""

from __future__ import annotations

from fake_kafka import FakeConsumer, FakeKafka

from connect.api.errors import RetriableError
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
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "key.converter": STRING, "value.converter": STRING,
}  # fmt: skip
GOOD, REFUSED = TopicPartition("t", 0), TopicPartition("t", 1)
LOG = {GOOD: [b"v"] * 5, REFUSED: [b"v"] * 5}


class Task:
    """Takes the refused partition's row once the other's is committed, or it has been tried too often."""

    def __init__(self, kafka):
        self.kafka = kafka
        self.taken = {}
        self.tries = 0
        self.seen = None

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        if batch.partition == REFUSED.partition:
            self.tries += 1
            if not self.kafka.committed and self.tries < 20:
                raise RetriableError("The target is full.")
            self.seen = dict(self.kafka.committed)
        self.taken[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, deadline):
        return dict(self.taken)


class PausedTask(Task):
    """Refuses all, and is paused at its third try."""

    def __init__(self, kafka, control):
        super().__init__(kafka)
        self.control = control

    def put(self, batch, deadline):
        self.tries += 1
        if self.tries == 3:
            self.control.ask_to_pause(True)
        if self.tries < 5:
            raise RetriableError("The target is full.")
        self.taken[batch.consumed.topic_partition] = batch.consumed.next_offset


def _loop(kafka, control, task):
    tolerance = Tolerance(SinkConnectorConfig.parse(CONFIG), TaskFigures(), None)
    pipeline = SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up)
    path = SinkRecordPath(task, "Sink", pipeline, tolerance, RetryBudget(0))
    limits = SinkLimits(0.02, 1, 0.01, max_records=100, put_timeout_s=1)
    return SinkLoop(FakeConsumer(kafka, control, LOG), path, limits, TaskReports())


def test_other_partitions_are_committed_while_one_is_refused():
    kafka, control = FakeKafka(), Control()
    task = Task(kafka)
    _loop(kafka, control, task).run(control, lambda paused: None, ["t"])
    assert task.seen == {GOOD: 5}
    assert kafka.committed == {GOOD: 5, REFUSED: 5}


def test_a_sink_whose_target_is_away_is_paused_all_the_same():
    kafka, control = FakeKafka(), Control()
    task = PausedTask(kafka, control)
    heard = []

    def on_paused(paused):
        heard.append((paused, task.tries))
        control.ask_to_pause(False)

    _loop(kafka, control, task).run(control, on_paused, ["t"])
    assert heard == [(True, 3), (False, 3)], "it tries nothing while it is paused"
    assert kafka.committed == {GOOD: 5, REFUSED: 5}
