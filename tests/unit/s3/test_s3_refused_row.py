"""A row that the sink refuses ends its task, and is written once somebody has mended what made it bad."""

from __future__ import annotations

import pyarrow as pa
import pytest
from s3_http_store import TP, config

from connect.kafka.raw import RawBatch
from connect.plugins import Catalog
from connect.runtime.build import build_converters
from connect.runtime.connector_config import SinkConnectorConfig
from connect.runtime.control import Control
from connect.runtime.figures import TaskFigures
from connect.runtime.pipeline import SinkPipeline
from connect.runtime.retry import RetryBudget
from connect.runtime.sink_loop import SinkLoop
from connect.runtime.tolerance import LimitExceededError, Tolerance, ToleranceExceededError
from connect.runtime.used_topics import UsedTopics
from connect.testing.fakes import FakeSinkContext
from connectors.s3.sink import S3SinkTask

pytestmark = pytest.mark.thorough

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "key.converter": BYTES, "value.converter": BYTES,
}  # fmt: skip


class Consumer:
    """Reads the log from the commit on, once."""

    def __init__(self, log, committed, control):
        self.log, self.committed, self.control = log, committed, control
        self.next_offset = committed.get(TP, 0)

    def subscribe(self, topics, assigned, revoked, lost):
        assigned([TP])

    def poll(self, most, deadline):
        at, self.next_offset = self.next_offset, len(self.log)
        if at == len(self.log):
            self.control.ask_to_stop()
            return []
        offsets = pa.array(range(at, len(self.log)), pa.int64())
        values = pa.array(self.log[at:], pa.binary())
        return [RawBatch(TP.topic, values, partition=TP.partition, offsets=offsets, next_offset=len(self.log))]

    def commit(self, offsets, deadline):
        self.committed |= offsets

    trouble = None

    def end_offsets(self):
        return {}

    def position(self, partitions):
        return {}


def live(store, log, committed, settings):
    """One life of the task, until all is read or a row ends it."""
    control = Control()
    raw = {**CONFIG, **settings}
    tolerance = Tolerance(SinkConnectorConfig.parse(raw), TaskFigures(), None)
    task = S3SinkTask(config(store))
    task.open(FakeSinkContext())
    loop = SinkLoop(
        task, Consumer(log, committed, control), task_class="Sink", dead_letters=None, tolerance=tolerance,
        pipeline=SinkPipeline([], build_converters(Catalog.installed(), raw, {}), tolerance.give_up),
        figures=TaskFigures(), max_records=100, put_timeout_s=5, flush_interval_s=0, flush_timeout_s=5,
        retry_delay_max_s=0.01, used_topics=UsedTopics(), retries=RetryBudget(0),
    )  # fmt: skip
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
    committed = {}
    with pytest.raises(error):
        live(store, [b"0", None, b"2", b"3"], committed, settings)
    live(store, [b"0", b"1", b"2", b"3"], committed, settings)
    assert sorted(body for body, _ in store.objects.values()) == [b"0\n1\n", b"2\n3\n"]
    assert committed == {TP: 4}
