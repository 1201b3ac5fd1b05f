"""A row that the sink refuses ends its task, and is written once somebody has mended what made it bad."""

from __future__ import annotations

import pytest
from fake_kafka import FakeConsumer, FakeKafka
from s3_http_store import TP, config

from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import LimitExceededError, Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports
from connect.testing.fakes import FakeSinkContext
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask

pytestmark = pytest.mark.thorough

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "key.converter": BYTES, "value.converter": BYTES,
}  # fmt: skip


def live(store, log, kafka, settings):
    """One life of the task, until all is read or a row ends it."""
    control = Control()
    raw = {**CONFIG, **settings}
    tolerance = Tolerance(SinkConnectorConfig.parse(raw), TaskFigures(), None)
    task = S3SinkTask(ConfluentPlan(config(store)))
    task.open(FakeSinkContext())
    pipeline = SinkPipeline([], build_converters(Catalog.installed(), raw, {}), tolerance.give_up)
    path = SinkRecordPath(task, "Sink", pipeline, tolerance, RetryBudget(0))
    limits = SinkLimits(0, 5, 0.01, max_records=100, put_timeout_s=5)
    loop = SinkLoop(FakeConsumer(kafka, control, {TP: log}), path, limits, TaskReports())
    try:
        loop.run(control, lambda paused: None, ["t"])
    finally:
        task.close()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({}, ToleranceExceededError),
        ({"errors.tolerance": "all", "errors.tolerance.limit.count": "0"}, LimitExceededError),
    ],
)
def test_a_row_that_ended_the_task_is_in_no_gap_of_an_object(store, settings, error):
    kafka = FakeKafka()
    with pytest.raises(error):
        live(store, [b"0", None, b"2", b"3"], kafka, settings)
    live(store, [b"0", b"1", b"2", b"3"], kafka, settings)
    assert sorted(body for body, _ in store.objects.values()) == [b"0\n1\n", b"2\n3\n"]
    assert kafka.committed == {TP: 4}
