"""A sink task dies at every step of its life, or loses partitions: what is committed is durable, nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from fake_kafka import FakeConsumer, FakeKafka, FakeProducer, KilledError

from connect.api.errors import RejectedRowsError
from connect.api.records import TopicPartition
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.chain import Link
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

STRING = "org.apache.kafka.connect.storage.StringConverter"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "errors.tolerance": "all", "key.converter": STRING,
    "value.converter": STRING,
}  # fmt: skip
CONVERTERS = build_converters(Catalog.installed(), CONFIG, {})
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
LOG = {FIRST: [b"a0", b"a1", b"bad", b"a3", b"a4"], SECOND: [b"b0", b"b1", b"b2"]}
LETTERS = "dlq"


class Buffering:
    """Buffers rows, and makes them durable at a flush. Claims what it has put, as the contract says it may."""

    def __init__(self, kafka, before_put):
        self.kafka = kafka
        self.before_put = before_put
        self.buffer = []
        self.claims = {}

    def assigned(self, partitions):
        for tp in partitions:
            self.claims.pop(tp, None)

    def put(self, batch, deadline):
        self.kafka.step("put")
        self.before_put(batch)
        rows = batch.values.rows()
        tp, offsets = batch.consumed.topic_partition, batch.consumed.offsets.to_pylist()
        self.buffer += [(tp, o, row.encode()) for o, row in zip(offsets, rows, strict=True) if row != "bad"]
        self.claims[tp] = batch.consumed.next_offset
        if "bad" in rows:
            raise RejectedRowsError({rows.index("bad"): ValueError("bad")})

    def flush(self, deadline):
        self.kafka.step("flush")
        for _, _, row in self.buffer:
            self.kafka.records["target"].append(row)
        self.buffer.clear()
        self.kafka.step("durable")
        return dict(self.claims)

    def revoked(self, partitions):
        self.buffer = [one for one in self.buffer if one[0] not in partitions]
        for tp in partitions:
            self.claims.pop(tp, None)


class KeepsTheLast(Buffering):
    """As files do that are not full: the last row of each partition waits for more."""

    def flush(self, deadline):
        last = {one[0]: one for one in self.buffer}
        self.buffer = [one for one in self.buffer if one not in last.values()]
        super().flush(deadline)
        self.buffer = list(last.values())
        return {tp: offset for tp, offset, _ in self.buffer}


def nothing_is_committed_ahead(kafka):
    """Of what is committed every row is in the target, or its letter is in Kafka."""
    there = {*kafka.records["target"], *kafka.records[LETTERS]}
    for tp, next_offset in kafka.committed.items():
        assert set(LOG[tp][:next_offset]) <= there, (tp, next_offset, kafka.steps)


def live(kafka, reads=(), links=(), before_put=lambda consumer, batch: None, flush_interval_s=0.0, new_task=Buffering):
    """One life of the task, until everything is read or it is killed."""
    control, figures = Control(), TaskFigures()
    config = SinkConnectorConfig.parse(CONFIG)
    letters = DeadLetters(
        FakeProducer(kafka), LETTERS, TaskId("n", 0), context_headers=False, timeout_s=1, read_again=pytest.fail
    )
    tolerance = Tolerance(config, figures, letters.add)
    consumer = FakeConsumer(kafka, control, LOG, reads)
    pipeline = SinkPipeline(list(links), CONVERTERS, tolerance.give_up)
    task = new_task(kafka, partial(before_put, consumer))
    path = SinkRecordPath(task, "Sink", pipeline, tolerance, RetryBudget(0), letters)
    limits = SinkLimits(flush_interval_s, 1, 0.001, max_records=100, put_timeout_s=1)
    loop = SinkLoop(consumer, path, limits, TaskReports(figures))
    loop.run(control, lambda paused: None, ["t"])


def moves(consumer):
    """The second partition goes to another member and comes back."""
    consumer.revoke(SECOND)
    consumer.assign(SECOND)


def is_lost(consumer):
    """It was away for too long: the partition was another member's meanwhile."""
    consumer.lose(SECOND)
    consumer.assign(SECOND)


READS = {"all at once": (), "in parts": (1, 2, 1), "moved": (1, moves, 1, moves), "lost": (1, is_lost, 2)}


@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_no_row_is_lost_whenever_the_task_dies(reads):
    whole = FakeKafka(after_step=nothing_is_committed_ahead)
    live(whole, reads)
    for dies_at in range(len(whole.steps)):
        kafka = FakeKafka(dies_at, after_step=nothing_is_committed_ahead)
        with pytest.raises(KilledError):
            live(kafka, reads)
        kafka = kafka.after_death()
        live(kafka)
        assert set(kafka.records["target"]) == {row for rows in LOG.values() for row in rows} - {b"bad"}
        assert set(kafka.records[LETTERS]) == {b"bad"}
        assert kafka.committed == {tp: len(rows) for tp, rows in LOG.items()}


def test_what_was_put_is_durable_and_committed_before_its_partition_goes():
    seen = []

    def revoke(consumer):
        consumer.revoke(FIRST)
        seen.append(dict(kafka.committed))
        consumer.assign(FIRST)

    kafka = FakeKafka(after_step=nothing_is_committed_ahead)
    live(kafka, (2, revoke), flush_interval_s=60)
    assert seen == [{FIRST: 2, SECOND: 2}]


def test_what_the_sink_keeps_back_is_not_committed():
    kafka = FakeKafka(after_step=nothing_is_committed_ahead)
    live(kafka, reads=(2, 1), new_task=KeepsTheLast)
    assert kafka.committed == {tp: len(rows) - 1 for tp, rows in LOG.items()}


class TwoTopics:
    """Makes batches of two topics of each one that is read: their rows lie among each other's."""

    def apply(self, batch):
        rows = range(len(batch))
        return [replace(batch.take([i for i in rows if i % 2 == n]), topic=topic) for n, topic in enumerate("tu")]


def test_a_claim_beyond_what_was_taken_whole_is_not_committed():
    def leaves_amid_a_read(consumer, batch):
        if batch.topic == "u":
            consumer.revoke(FIRST, SECOND)
            raise KilledError

    kafka = FakeKafka()
    with pytest.raises(KilledError):
        live(kafka, links=[Link("TwoTopics", TwoTopics())], before_put=leaves_amid_a_read, flush_interval_s=60)
    assert kafka.records["target"] == [b"a0", b"a4"]
    assert kafka.committed == {}
