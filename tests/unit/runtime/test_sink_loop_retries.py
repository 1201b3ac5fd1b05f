"""A sink that refuses one partition's rows for long: what it took of the others is committed meanwhile."""

from __future__ import annotations

import pyarrow as pa

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
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

STRING = "org.apache.kafka.connect.storage.StringConverter"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "key.converter": STRING, "value.converter": STRING,
}  # fmt: skip
GOOD, REFUSED = TopicPartition("t", 0), TopicPartition("t", 1)


class Consumer:
    """Has a row of each partition, once."""

    def __init__(self):
        self.committed = {}
        self.given = False

    def subscribe(self, topics, assigned, revoked, lost):
        assigned([GOOD, REFUSED])

    def poll(self, most, deadline):
        if most == 0 or self.given:
            return []
        self.given = True
        values, offsets = pa.array([b"v"], pa.binary()), pa.array([4], pa.int64())
        return [RawBatch("t", values, partition=p, offsets=offsets, next_offset=5) for p in (0, 1)]

    def commit(self, offsets, deadline):
        self.committed |= offsets

    def pause(self, partitions):
        pass

    resume = pause

    trouble = None

    def end_offsets(self):
        return {}

    def position(self, partitions):
        return {}


class Task:
    """Takes the refused partition's row once the other's is committed, or it has been tried too often."""

    def __init__(self, consumer, control):
        self.consumer = consumer
        self.control = control
        self.taken = {}
        self.tries = 0
        self.seen = None

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        if batch.partition == REFUSED.partition:
            self.tries += 1
            if not self.consumer.committed and self.tries < 20:
                raise RetriableError("The target is full.")
            self.seen = dict(self.consumer.committed)
            self.control.ask_to_stop()
        self.taken[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, deadline):
        return dict(self.taken)


def test_other_partitions_are_committed_while_one_is_refused():
    control, consumer = Control(), Consumer()
    task = Task(consumer, control)
    tolerance = Tolerance(SinkConnectorConfig.parse(CONFIG), TaskFigures(), None)
    loop = SinkLoop(
        task, consumer, task_class="Sink", dead_letters=None, tolerance=tolerance,
        pipeline=SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up),
        figures=TaskFigures(), max_records=100, put_timeout_s=1, flush_interval_s=0.02, flush_timeout_s=1,
        retry_delay_max_s=0.01, used_topics=UsedTopics(), retries=RetryBudget(0),
    )  # fmt: skip
    loop.run(control, lambda paused: None, ["t"])
    assert task.seen == {GOOD: 5}
    assert consumer.committed == {GOOD: 5, REFUSED: 5}
