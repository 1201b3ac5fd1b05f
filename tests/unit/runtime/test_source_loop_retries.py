"""Checks a source loop whose converter cannot go on: what was polled must not be passed over."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer

from connect.api import schema as s
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, Column, SourcePosition
from connect.kafka.client.errors import AbortableError
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain, build_converters
from connect.runtime.records.pipeline import Encoded, SourcePipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.exactly_once import Boundary, ConnectorTransactions
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import SourceLoop
from connect.runtime.source.transactional_delivery import ExactlyOnceDelivery
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports


class Task:
    """Gives one row after another."""

    def __init__(self):
        self.given = 0
        self.heard = []

    def poll(self, deadline):
        self.given += 1
        return Batch("t", Column.from_rows([self.given], s.INT32), position=SourcePosition({"p": 0}, {"n": self.given}))

    def stored(self, positions):
        self.heard += positions


class Pipeline:
    """The registry behind the converter is away."""

    def encode(self, batch):
        raise RetriableError("The schema registry does not answer (4 tries): http://r: refused.")


class AwayTwice:
    """The registry comes back after two tries; the task is asked to stop once a second batch is through."""

    def __init__(self, control):
        self.control = control
        self.tried = []

    def encode(self, batch):
        (row,) = batch.values.rows()
        self.tried.append(row)
        if len(self.tried) < 3:
            raise RetriableError("The schema registry does not answer.")
        if row == 2:
            self.control.ask_to_stop()
        return Encoded([])


class AwayUntilStored:
    """The registry knows the first batch; it comes back once the offset of that one is stored, or never."""

    def __init__(self, control, kafka):
        self.control = control
        self.kafka = kafka
        self.tries = 0
        self.stored = False

    def encode(self, batch):
        if batch.values.rows() == [1]:
            return Encoded([])
        self.tries += 1
        self.stored = self.kafka.offsets == {'{"p":0}': {"n": 1}}
        if not self.stored and self.tries < 20:
            raise RetriableError("The schema registry does not answer.")
        self.control.ask_to_stop()
        return Encoded([])


class Topic:
    """Everything is there."""

    def ensure(self, topic, deadline):
        pass

    def add(self, topic):
        pass


class InTwos(Task):
    """Every second row ends the connector's transaction."""

    def __init__(self, transactions, end):
        super().__init__()
        self.end = getattr(transactions, end)

    def poll(self, deadline):
        batch = super().poll(deadline)
        if self.given % 2 == 0:
            self.end()
        return batch


class AwayOnce:
    """The registry is away at the second row; what is asked of the task at the second and at the fourth."""

    def __init__(self, second, fourth):
        self.asks = {2: second, 4: fourth}

    def encode(self, batch):
        (row,) = batch.values.rows()
        ask = self.asks.pop(row, None)
        if ask is not None:
            ask()
            if row == 2:
                raise RetriableError("The schema registry does not answer.")
        return Encoded([RawBatch("t", pa.array([str(row).encode()], pa.binary()))])


def at_least_once(kafka):
    return AtLeastOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka))


def loop_of(task, pipeline, delivery, retry_timeout_ms, topics=None, flush_interval_s=60):
    config = SourceConnectorConfig.parse({"name": "n", "connector.class": "c"})
    reports = TaskReports(used_topics=topics)
    tolerance = Tolerance(config, reports.figures, None)
    path = SourceRecordPath(task, "Source", pipeline, tolerance, RetryBudget(retry_timeout_ms), reports.figures)
    task.reject = path.reject
    return SourceLoop(path, delivery, topics, LoopLimits(flush_interval_s, 1, 0.01), reports)


def test_a_polled_batch_that_cannot_be_converted_for_now_ends_the_task_and_is_never_passed_over():
    kafka, task = FakeKafka(), Task()
    with pytest.raises(
        ConnectError, match="batch for topic t could not be converted: The schema registry does not"
    ) as failure:
        loop_of(task, Pipeline(), at_least_once(kafka), 0).run(Control(), lambda paused: None)
    assert not isinstance(failure.value, RetriableError)
    assert (task.given, kafka.offsets, task.heard) == (1, {}, [])


def test_within_the_retry_timeout_the_same_batch_is_tried_again_before_the_next_is_polled():
    kafka, control, task = FakeKafka(), Control(), Task()
    pipeline = AwayTwice(control)
    loop_of(task, pipeline, at_least_once(kafka), 60_000).run(control, lambda paused: None)
    assert pipeline.tried == [1, 1, 1, 2]
    assert [position.offset for position in task.heard] == [{"n": 2}]


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_connectors_transaction_does_not_end_before_the_batch_that_ends_it_is_sent(end):
    kafka, control, transactions = FakeKafka(), Control(), ConnectorTransactions()
    delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), Boundary.CONNECTOR, transactions)
    pipeline = AwayOnce(control.ask_to_stop, control.ask_to_stop)
    loop_of(InTwos(transactions, end), pipeline, delivery, 60_000, Topic()).run(control, lambda paused: None)
    assert (kafka.records["t"], kafka.offsets) == ([], {})


@pytest.mark.parametrize(
    ("end", "committed"),
    [
        ("commit", [b"1", b"2", b"3", b"4"]),
        ("abort", []),
    ],
)
def test_a_connectors_transaction_goes_on_behind_a_pause(end, committed):
    kafka, control, transactions = FakeKafka(), Control(), ConnectorTransactions()
    delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), Boundary.CONNECTOR, transactions)
    pipeline = AwayOnce(lambda: control.ask_to_pause(True), control.ask_to_stop)
    loop = loop_of(InTwos(transactions, end), pipeline, delivery, 60_000, Topic())
    loop.run(control, lambda paused: control.ask_to_pause(False))
    assert kafka.records["t"] == committed
    assert [json.loads(offset)["n"] for offset in kafka.records["offsets"]] == [2, 4]


def test_what_was_delivered_is_stored_while_a_later_batch_cannot_be_converted():
    kafka, control, task = FakeKafka(), Control(), Task()
    pipeline = AwayUntilStored(control, kafka)
    loop = loop_of(task, pipeline, at_least_once(kafka), 60_000, flush_interval_s=0.02)
    loop.run(control, lambda paused: None)
    assert pipeline.stored
    assert task.given == 2


class EndsCommit:
    """Lets the commit of the first batch end when the second one is converted."""

    def __init__(self, control, kafka):
        self.control = control
        self.kafka = kafka

    def encode(self, batch):
        (row,) = batch.values.rows()
        if row == 2:
            self.kafka.commits.set()
            self.control.ask_to_stop()
        return Encoded([RawBatch("t", pa.array([str(row).encode()], pa.binary()))])


def test_the_next_batch_is_read_and_converted_while_the_last_one_is_committed():
    kafka, control, task = FakeKafka(), Control(), Task()
    kafka.commits.clear()
    delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), Boundary.POLL)
    loop_of(task, EndsCommit(control, kafka), delivery, 0, Topic()).run(control, lambda paused: None)
    assert task.given == 2
    assert kafka.records["t"][:1] == [b"1"]
    assert task.heard


class GivesUp(Task):
    """Cannot read what was before its first batch, and comes to it one poll late."""

    def __init__(self):
        super().__init__()
        self.polls = 0

    def poll(self, deadline):
        self.polls += 1
        if self.polls == 1:
            self.reject(Batch("t", Column.from_rows([b"?"], s.BYTES)), {0: ValueError("no text")})
            return None
        return super().poll(deadline)


class AwayAtFirst(AwayOnce):
    """The registry is away at the first batch."""

    def __init__(self, control):
        super().__init__(None, None)
        self.control = control
        self.tries = 0

    def encode(self, batch):
        self.tries += 1
        if self.tries == 1:
            raise RetriableError("The schema registry does not answer.")
        self.control.ask_to_stop()
        return super().encode(batch)

    def reject(self, component, batch, rows):
        return [RawBatch("dlq", pa.array([b"letter"], pa.binary()))]


@pytest.mark.parametrize("boundary", [None, Boundary.POLL])
def test_letters_of_what_the_source_gave_up_go_with_the_batch_behind_it_once(boundary):
    kafka, control, task = FakeKafka(), Control(), GivesUp()
    delivery = at_least_once(kafka)
    if boundary is not None:
        delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), boundary)
    loop = loop_of(task, AwayAtFirst(control), delivery, 60_000, Topic())
    loop.run(control, lambda paused: None)
    assert (kafka.records["t"], kafka.records["dlq"]) == ([b"1"], [b"letter"])
    assert [position.offset for position in task.heard] == [{"n": 1}]


class Sends:
    """Makes one record of each row, for the topic that the row's number has."""

    def __init__(self, topics, ask=None):
        self.topics = topics
        self.ask = ask or {}

    def encode(self, batch):
        (row,) = batch.values.rows()
        self.ask.pop(row, lambda: None)()
        return Encoded([RawBatch(self.topics.get(row, "t"), pa.array([b"a", b"b"], pa.binary()))])


def test_a_stop_while_the_producers_queue_is_full_stores_the_offsets_of_rows_that_are_in_kafka():
    kafka, control, task = FakeKafka(), Control(), Task()
    kafka.stuck = {"stuck"}
    delivery = AtLeastOnceDelivery(FakeProducer(kafka, room=3), FakeOffsets(kafka))
    pipeline = Sends({4: "stuck", 5: "stuck"}, {5: control.ask_to_stop})
    with pytest.raises(AbortableError, match="Stopped before all rows"):
        loop_of(task, pipeline, delivery, 0, Topic()).run(control, lambda paused: None)
    assert kafka.offsets == {'{"p":0}': {"n": 3}}
    assert [position.offset for position in task.heard] == [{"n": 3}]


class Breaks(Task):
    """Loses its database behind the third row."""

    def poll(self, deadline):
        if self.given == 3:
            raise ConnectError("The table is gone.")
        return super().poll(deadline)


class BreaksAgain(Breaks):
    """Cannot hear of stored offsets either, as its connection is closed."""

    def stored(self, positions):
        super().stored(positions)
        raise ValueError("The connection is closed.")


@pytest.mark.parametrize("breaks", [Breaks, BreaksAgain])
def test_a_task_that_fails_stores_the_offsets_of_rows_that_are_in_kafka(breaks):
    kafka, task = FakeKafka(), breaks()
    with pytest.raises(ConnectError, match="The table is gone"):
        loop_of(task, Sends({}), at_least_once(kafka), 0, Topic()).run(Control(), lambda paused: None)
    assert kafka.offsets == {'{"p":0}': {"n": 3}}
    assert [position.offset for position in task.heard] == [{"n": 3}]


def test_a_task_that_fails_commits_no_transaction():
    kafka = FakeKafka()
    delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), Boundary.INTERVAL)
    with pytest.raises(ConnectError, match="The table is gone"):
        loop_of(Breaks(), Sends({}), delivery, 0, Topic()).run(Control(), lambda paused: None)
    assert (kafka.records["t"], kafka.offsets) == ([], {})


class Brokers:
    """They do not tell what a topic holds for so many questions; the task is asked to stop once they have."""

    def __init__(self, control, silent):
        self.control = control
        self.silent = silent

    def __call__(self, topic, deadline):
        self.silent -= 1
        if self.silent >= 0:
            raise RetriableError("Failed describing the configs of topic t: timed out.")
        self.control.ask_to_stop()


RAW = {"name": "n", "connector.class": "c", "key.converter": "JsonConverter", "value.converter": "JsonConverter"}
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "configs",
    "offset.storage.topic": "o", "status.storage.topic": "s", **RAW,
})  # fmt: skip


def test_rows_wait_for_brokers_that_do_not_tell_what_a_topic_holds_whatever_the_retry_timeout():
    kafka, control, task = FakeKafka(), Control(), Task()
    brokers = Brokers(control, silent=3)
    pipeline = SourcePipeline(
        [], build_converters(Catalog.installed(), RAW, {}), lambda bad: None, reserved=ReservedTopics(WORKER, brokers)
    )
    loop_of(task, pipeline, at_least_once(kafka), 0, Topic()).run(control, lambda paused: None)
    assert brokers.silent < 0
    assert task.given == 1
    assert len(kafka.records["t"]) == 1


class OneBad(Task):
    """Gives one batch, whose second row is no number."""

    def poll(self, deadline):
        self.given += 1
        return Batch("t", Column.from_rows(["1", "x"], s.STRING), position=SourcePosition({"p": 0}, {"n": self.given}))


def test_a_bad_row_counts_once_while_its_batch_waits_for_brokers():
    raw = {
        **RAW, "errors.tolerance": "all", "errors.tolerance.limit.count": "1", "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.cast.spec": "int8",
    }  # fmt: skip
    config, catalog = SourceConnectorConfig.parse(raw), Catalog.installed()
    kafka, control, figures = FakeKafka(), Control(), TaskFigures()
    pipeline = SourcePipeline(
        build_chain(catalog, config, {}),
        build_converters(catalog, raw, {}),
        Tolerance(config, figures, None).give_up,
        reserved=ReservedTopics(WORKER, Brokers(control, silent=3)),
    )
    loop_of(OneBad(), pipeline, at_least_once(kafka), 0, Topic()).run(control, lambda paused: None)
    assert len(kafka.records["t"]) == 1
    counted = figures.snapshot()
    assert (counted["skipped_total"], counted["errors_total"]) == (1, 1)
