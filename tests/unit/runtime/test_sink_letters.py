"""Lets a sink die between a dead letter and the commit: the letter is there first, and the record is read again."""

from __future__ import annotations

import pytest
from fake_kafka import FakeConsumer, FakeKafka, FakeProducer, KilledError

from connect.api.records import TopicPartition
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.task.control import Control
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports

TP = TopicPartition("orders", 0)
LOG = {TP: [b'{"a":1}', b"no json", b'{"a":3}']}
LETTERS = "dlq"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "orders", "errors.tolerance": "all",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
}  # fmt: skip
CONVERTERS = build_converters(Catalog.installed(), CONFIG, {})


class WritesAtOnce:
    """Its target keeps rows by their offset as soon as they are put."""

    def __init__(self, target):
        self.target = target
        self.claims = {}

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        for offset, row in zip(batch.consumed.offsets.to_pylist(), batch.values.rows(), strict=True):
            self.target[offset] = row["a"]
        self.claims[TP] = batch.consumed.next_offset

    def flush(self, deadline):
        return dict(self.claims)


def live(kafka, target):
    """One life of the task, until all is read or it is killed."""
    control, figures = Control(), TaskFigures()
    config = SinkConnectorConfig.parse(CONFIG)
    letters = DeadLetters(
        FakeProducer(kafka), LETTERS, TaskId("n", 0), context_headers=False, timeout_s=1, read_again=pytest.fail
    )
    tolerance = Tolerance(config, figures, letters.add)
    pipeline = SinkPipeline([], CONVERTERS, tolerance.give_up)
    path = SinkRecordPath(WritesAtOnce(target), "Sink", pipeline, tolerance, RetryBudget(0), letters)
    limits = SinkLimits(0, 1, 0.01, max_records=100, put_timeout_s=1)
    loop = SinkLoop(FakeConsumer(kafka, control, LOG), path, limits, TaskReports(figures))
    loop.run(control, lambda paused: None, ["orders"])


def nothing_is_committed_ahead_of_its_letter(kafka):
    assert kafka.committed.get(TP, 0) <= 1 or kafka.records[LETTERS], kafka.steps


@pytest.mark.parametrize("dies_at", ["send", "row", "row acknowledged", "commit", "committed"])
def test_killed_between_letter_and_commit_no_row_is_lost(dies_at):
    kafka, target = FakeKafka(dies_at, after_step=nothing_is_committed_ahead_of_its_letter), {}
    with pytest.raises(KilledError):
        live(kafka, target)
    assert bool(kafka.records[LETTERS]) == (dies_at not in {"send", "row"})
    assert kafka.committed == ({TP: 3} if dies_at == "committed" else {})
    kafka = kafka.after_death()
    live(kafka, target)
    assert kafka.committed == {TP: 3}
    assert set(kafka.records[LETTERS]) == {b"no json"}
    assert target == {0: 1, 2: 3}


def test_nothing_is_committed_before_its_letter_is_acknowledged():
    kafka, target = FakeKafka(after_step=nothing_is_committed_ahead_of_its_letter), {}
    kafka.failures["flush rows"] = 2
    live(kafka, target)
    refused = [i for i, step in enumerate(kafka.steps) if step == "flush rows"][:2]
    assert refused[1] < kafka.steps.index("row acknowledged") < kafka.steps.index("commit")
    assert (kafka.committed, kafka.records[LETTERS]) == ({TP: 3}, [b"no json"])
