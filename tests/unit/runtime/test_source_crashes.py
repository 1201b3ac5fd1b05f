"""Lets a source task die at every step of its life, and run again: nothing is lost, no offset is ahead of its rows."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer, KilledError

from connect.api import schema as s
from connect.api.records import Batch, Column, SourcePosition
from connect.kafka.raw import RawBatch
from connect.runtime.records.pipeline import Encoded
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.exactly_once import Boundary
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import SourceLoop
from connect.runtime.source.transactional_delivery import ExactlyOnceDelivery
from connect.runtime.task.control import Control
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.topics.topic_creation import BrokersTopics

ROWS = {"a": 5, "b": 4}
"""Rows of each source partition; those of partition a go to the topic a."""
POLLS = [("a", 2), ("b", 1), ("a", 1), ("b", 3), ("a", 2)]
PACES = [(), (0, 1, 0, 2, 1, 0), (0,) * 30]
"""Rows that are acknowledged at each check."""


class Rows:
    """Gives the rows that are not stored, in the order of POLLS, then asks to be stopped."""

    def __init__(self, kafka, offsets, control):
        self.kafka = kafka
        self.control = control
        self.next = {name: int((offsets.get({"p": name}) or {"n": 0})["n"]) for name in ROWS}
        self.polls = iter(POLLS * 2)

    def poll(self, deadline):
        self.kafka.step("poll")
        for name, most in self.polls:
            start = self.next[name]
            rows = [f"{name}{i}" for i in range(start, min(ROWS[name], start + most))]
            if rows:
                self.next[name] += len(rows)
                position = SourcePosition({"p": name}, {"n": self.next[name]})
                return Batch(name, Column.from_rows(rows, s.STRING), position=position)
        self.control.ask_to_stop()
        return None

    def stored(self, positions):
        self.kafka.step("heard")
        for position in positions:
            stored = self.kafka.offsets[json.dumps(position.partition, separators=(",", ":"))]
            assert stored["n"] >= position.offset["n"], "the next transaction may be committed by now"


UNITS = 4


class Units:
    """Gives units of rows for two topics. The position is that of the last batch, or of a poll of its own."""

    def __init__(self, kafka, offsets, control):
        self.kafka = kafka
        self.control = control
        self.next = int((offsets.get({"p": "u"}) or {"n": 0})["n"])

    def poll(self, deadline):
        self.kafka.step("poll")
        number = self.next
        if number == UNITS:
            self.control.ask_to_stop()
            return None
        self.next += 1
        return [
            Batch("a", Column.from_rows([f"a{2 * number}", f"a{2 * number + 1}"], s.STRING)),
            Batch(
                "b", Column.from_rows([f"b{number}"], s.STRING), position=SourcePosition({"p": "u"}, {"n": number + 1})
            ),
        ]

    def stored(self, positions):
        self.kafka.step("heard")


class InPolls(Units):
    """The same batches by polls of their own."""

    def __init__(self, *args):
        super().__init__(*args)
        self.left = []

    def poll(self, deadline):
        self.left = self.left or super().poll(deadline) or []
        return self.left.pop(0) if self.left else None


def no_unit_is_ahead(kafka):
    stored = kafka.offsets.get('{"p":"u"}', {"n": 0})["n"]
    assert set(expected("a", 2 * stored)) <= set(kafka.records["a"]), (stored, kafka.steps)
    assert set(expected("b", stored)) <= set(kafka.records["b"]), (stored, kafka.steps)


def no_unit_is_seen_in_part(kafka):
    no_unit_is_ahead(kafka)
    assert len(kafka.records["a"]) == 2 * len(kafka.records["b"]), kafka.steps


class Texts:
    """The converter."""

    def encode(self, batch):
        return Encoded([RawBatch(batch.topic, pa.array([row.encode() for row in batch.values.rows()], pa.binary()))])


def expected(name, count):
    return [f"{name}{i}".encode() for i in range(count)]


def no_offset_is_ahead(kafka):
    for name in ROWS:
        stored = kafka.offsets.get(f'{{"p":"{name}"}}', {"n": 0})["n"]
        assert set(expected(name, stored)) <= set(kafka.records[name]), (name, stored, kafka.steps)


def at_least_once(producer, offsets):
    return AtLeastOnceDelivery(producer, offsets)


def exactly_once(producer, offsets):
    return ExactlyOnceDelivery(producer, offsets, Boundary.POLL)


def in_shared_transactions(producer, offsets):
    return ExactlyOnceDelivery(producer, offsets, Boundary.POLL, is_behind=lambda: True)


def in_intervals(producer, offsets):
    return ExactlyOnceDelivery(producer, offsets, Boundary.INTERVAL)


def live(kafka, new_delivery, pace=(), room=2, new_task=Rows):
    """One life of the task, until everything is read or it is killed. `room`: in the producer's queue, for rows."""
    control, offsets = Control(), FakeOffsets(kafka)
    delivery = new_delivery(FakeProducer(kafka, pace, room), offsets)
    config = SourceConnectorConfig.parse({"name": "n", "connector.class": "c"})
    reports = TaskReports()
    tolerance = Tolerance(config, reports.figures, None)
    task = new_task(kafka, offsets, control)
    path = SourceRecordPath(task, "Source", Texts(), tolerance, RetryBudget(0), reports.figures)
    loop = SourceLoop(path, delivery, BrokersTopics(), LoopLimits(0, 5, 0.001), reports)
    loop.run(control, lambda paused: None)
    delivery.close()


def steps_of_a_life(new_delivery, pace, new_task=Rows):
    kafka = FakeKafka()
    live(kafka, new_delivery, pace, new_task=new_task)
    return len(kafka.steps)


@pytest.mark.parametrize("pace", PACES, ids=["at once", "row by row", "late"])
def test_at_least_once_no_row_is_lost_whenever_the_task_dies(pace):
    steps = steps_of_a_life(at_least_once, pace)
    assert steps > 30
    for dies_at in range(steps):
        kafka = FakeKafka(dies_at, after_step=no_offset_is_ahead)
        with pytest.raises(KilledError):
            live(kafka, at_least_once, pace)
        kafka = kafka.after_death()
        live(kafka, at_least_once)
        for name, count in ROWS.items():
            assert list(dict.fromkeys(kafka.records[name])) == expected(name, count), (dies_at, kafka.steps)
            assert kafka.offsets[f'{{"p":"{name}"}}'] == {"n": count}


@pytest.mark.parametrize("pace", PACES, ids=["at once", "row by row", "late"])
@pytest.mark.parametrize("new_delivery", [exactly_once, in_shared_transactions, in_intervals])
def test_exactly_once_every_row_is_there_once_whenever_the_task_dies(new_delivery, pace):
    steps = steps_of_a_life(new_delivery, pace)
    assert steps > 30
    for dies_at in range(steps):
        kafka = FakeKafka(dies_at, after_step=no_offset_is_ahead)
        try:
            live(kafka, new_delivery, pace)
        except KilledError:
            kafka = kafka.after_death()
            live(kafka, new_delivery)
        for name, count in ROWS.items():
            assert kafka.records[name] == expected(name, count), (dies_at, kafka.steps)
            assert kafka.offsets[f'{{"p":"{name}"}}'] == {"n": count}


@pytest.mark.parametrize("pace", PACES, ids=["at once", "row by row", "late"])
@pytest.mark.parametrize("new_delivery", [exactly_once, in_shared_transactions, in_intervals])
def test_exactly_once_a_unit_is_there_once_and_never_in_part_whenever_the_task_dies(new_delivery, pace):
    steps = steps_of_a_life(new_delivery, pace, Units)
    assert steps > 30
    for dies_at in range(steps):
        kafka = FakeKafka(dies_at, after_step=no_unit_is_seen_in_part)
        try:
            live(kafka, new_delivery, pace, new_task=Units)
        except KilledError:
            kafka = kafka.after_death()
            live(kafka, new_delivery, new_task=Units)
        assert kafka.records["a"] == expected("a", 2 * UNITS), (dies_at, kafka.steps)
        assert kafka.records["b"] == expected("b", UNITS), (dies_at, kafka.steps)
        assert kafka.offsets['{"p":"u"}'] == {"n": UNITS}


@pytest.mark.parametrize("pace", PACES, ids=["at once", "row by row", "late"])
@pytest.mark.parametrize("new_task", [Units, InPolls])
def test_at_least_once_no_position_is_ahead_of_any_batch_before_it_whenever_the_task_dies(new_task, pace):
    steps = steps_of_a_life(at_least_once, pace, new_task)
    assert steps > 30
    for dies_at in range(steps):
        kafka = FakeKafka(dies_at, after_step=no_unit_is_ahead)
        try:
            live(kafka, at_least_once, pace, new_task=new_task)
        except KilledError:
            kafka = kafka.after_death()
            live(kafka, at_least_once, new_task=new_task)
        assert list(dict.fromkeys(kafka.records["a"])) == expected("a", 2 * UNITS), (dies_at, kafka.steps)
        assert list(dict.fromkeys(kafka.records["b"])) == expected("b", UNITS), (dies_at, kafka.steps)


@pytest.mark.parametrize("new_task", [Units, InPolls])
def test_rows_of_a_stuck_topic_hold_back_a_position_that_another_topics_batch_carries(new_task):
    kafka = FakeKafka(after_step=no_unit_is_ahead)
    kafka.stuck = {"a"}
    live(kafka, at_least_once, room=1000, new_task=new_task)
    assert kafka.offsets == {}
    kafka.stuck.clear()
    live(kafka, at_least_once, new_task=new_task)
    assert kafka.offsets['{"p":"u"}'] == {"n": UNITS}


def test_a_stuck_topic_holds_back_its_own_source_partition_alone():
    kafka = FakeKafka(after_step=no_offset_is_ahead)
    kafka.stuck = {"b"}
    live(kafka, at_least_once, room=1000)
    assert kafka.offsets == {'{"p":"a"}': {"n": ROWS["a"]}}
    assert kafka.steps.index("poll", kafka.steps.index("stored")), "more is polled after the first offset was stored"
    kafka.stuck.clear()
    live(kafka, at_least_once)
    assert kafka.offsets['{"p":"b"}'] == {"n": ROWS["b"]}


def test_offsets_are_stored_while_rows_of_a_stuck_topic_leave_no_room_for_others():
    def until_stored(kafka):
        no_offset_is_ahead(kafka)
        assert len(kafka.steps) < 500, "no offset is stored while the producer's queue is full"
        if kafka.offsets == {'{"p":"a"}': {"n": 3}}:
            kafka.stuck.clear()

    kafka = FakeKafka(after_step=until_stored)
    kafka.stuck = {"b"}
    live(kafka, at_least_once, room=3)
    assert not kafka.stuck
    assert {name: kafka.records[name] for name in ROWS} == {name: expected(name, ROWS[name]) for name in ROWS}


def test_a_task_that_ends_waits_for_its_rows():
    kafka = FakeKafka(after_step=no_offset_is_ahead)
    live(kafka, at_least_once, pace=[0] * 1000, room=1000)
    assert kafka.offsets == {f'{{"p":"{name}"}}': {"n": count} for name, count in ROWS.items()}


@pytest.mark.parametrize("away", [1, 2, 5])
def test_offsets_that_cannot_be_stored_for_a_while_are_stored_later(away):
    kafka = FakeKafka(after_step=no_offset_is_ahead)
    kafka.failures["store"] = away
    live(kafka, at_least_once)
    assert kafka.offsets == {f'{{"p":"{name}"}}': {"n": count} for name, count in ROWS.items()}
