"""A source task dies at every step of its life, and runs again: nothing is lost, no offset is ahead of its rows."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer, KilledError

from connect.api import schema as s
from connect.api.records import Batch, Column, SourcePosition
from connect.kafka.raw import RawBatch
from connect.runtime.connector_config import SourceConnectorConfig
from connect.runtime.control import Control
from connect.runtime.delivery import AtLeastOnceDelivery
from connect.runtime.exactly_once import Boundary
from connect.runtime.figures import TaskFigures
from connect.runtime.pipeline import Encoded
from connect.runtime.retry import RetryBudget
from connect.runtime.source_loop import SourceLoop
from connect.runtime.tolerance import Tolerance
from connect.runtime.topic_creation import BrokersTopics
from connect.runtime.transactional_delivery import ExactlyOnceDelivery
from connect.runtime.used_topics import UsedTopics

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


def live(kafka, new_delivery, pace=(), room=2):
    """One life of the task, until everything is read or it is killed. `room`: in the producer's queue, for rows."""
    control, offsets = Control(), FakeOffsets(kafka)
    delivery = new_delivery(FakeProducer(kafka, pace, room), offsets)
    config = SourceConnectorConfig.parse({"name": "n", "connector.class": "c"})
    loop = SourceLoop(
        Rows(kafka, offsets, control), Texts(), delivery, TaskFigures(),
        flush_interval_s=0, flush_timeout_s=5, retry_delay_max_s=0.001, topics=BrokersTopics(),
        used_topics=UsedTopics(), tolerance=Tolerance(config, TaskFigures(), None), retries=RetryBudget(0),
    )  # fmt: skip
    loop.run(control, lambda paused: None)
    delivery.close()


def steps_of_a_life(new_delivery, pace):
    kafka = FakeKafka()
    live(kafka, new_delivery, pace)
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
