"""Checks that as many lanes run side by side as the source is to bear connections; what changes counts from then on."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect.api.errors import ConfigError
from connect.backfill.engines.local import LocalEngine
from connect.backfill.engines.spark import collected
from connect.backfill.estimate import cores_at_work
from connect.backfill.job.chunk import LaneLimits, LaneReport, LaneWork, Signal
from connect.backfill.job.job import JobPace, Jobs, JobSignal
from connect.backfill.job.job_store import StateTopics
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.pace import Pace, RemainingLanes
from connect.backfill.job.pace_limits import require_room
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.lane.lane import LaneTask, signal_of


def lane(number: int = 0, **pace: int) -> LaneTask:
    """One of four, whose readers have one connection each."""
    work = LaneWork("orders", number, (), LaneLimits(1, 1.0, 0))
    topics = StateTopics("jobs", "markers", 4)
    return LaneTask(work, JobConnectors(None), topics, "run", Pace(**pace), 1, RemainingLanes(4, 1), "orders.1")


@pytest.mark.parametrize(
    ("limit", "of_a_reader", "at_once"), [(0, 2, 4), (8, 2, 4), (7, 2, 3), (2, 2, 1), (1, 2, 1), (3, 1, 3), (99, 1, 4)]
)
def test_so_many_lanes_run_side_by_side_that_their_connections_are_within_the_limit(limit, of_a_reader, at_once):
    assert RemainingLanes(4, of_a_reader).at_once(Pace(source_connections=limit)) == at_once


def test_a_lane_that_asks_how_busy_the_source_is_has_one_connection_more():
    left = RemainingLanes(4, 2)
    assert left.at_once(Pace(source_connections=6)) == 3
    assert left.at_once(Pace(source_connections=6, max_active_sessions=9)) == 2
    assert left.at_once(Pace(max_active_sessions=9)) == 4


def test_a_limit_below_what_one_lane_has_is_refused():
    require_room(Pace(), 3)
    require_room(Pace(source_connections=3), 3)
    with pytest.raises(ConfigError, match=r"source_connections: 2, but one lane has 3 connections.*Write 3 or more"):
        require_room(Pace(source_connections=2), 3)


def test_lanes_end_when_more_or_fewer_of_them_may_run_and_only_then():
    task = lane(source_connections=2)
    jobs = Jobs()
    assert signal_of(jobs, task) is Signal.GO_ON
    found = []
    for said in (Pace(5, source_connections=2), Pace(source_connections=3), Pace(), Pace(source_connections=2)):
        jobs.apply(*JobPace("orders", said).record)
        found.append(signal_of(jobs, task))
    assert found == [Signal.GO_ON, Signal.AGAIN, Signal.AGAIN, Signal.GO_ON]
    jobs.apply(*JobPace("orders", Pace()).record)
    assert signal_of(jobs, lane()) is Signal.GO_ON, "it was started when this counted"
    jobs.apply(*JobSignal("orders", Signal.PAUSE).record)
    assert signal_of(jobs, task) is Signal.PAUSE


@pytest.mark.parametrize("signal", Signal)
def test_the_driver_starts_lanes_anew_unless_the_owner_wants_an_end_or_one_cannot_go_on(signal):
    assert LaneReport(0, signal).ends_run is (signal not in {Signal.GO_ON, Signal.AGAIN})
    assert LaneReport(0, signal, error="no such table").ends_run


def test_cores_that_no_lane_may_use_do_not_count_for_how_long_a_job_takes():
    given = {
        "apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "orders"}, "chunking": {"lanes": 8},
        "engine": {"type": "local", "processes": 8}, "limits": {"source_connections": 6},
    }  # fmt: skip
    spec = BackfillSpec.model_validate(given)
    assert [cores_at_work(spec, 16, of_a_reader) for of_a_reader in (1, 2, 3)] == [6, 3, 2]


@dataclass(frozen=True)
class Noted:
    """Runs no lane: notes which process was given it, and waits until so many have theirs."""

    notes: Path
    together: int = 1
    signal: Signal = Signal.GO_ON

    def __call__(self, task: LaneTask) -> LaneReport:
        (self.notes / str(task.work.lane)).write_text(str(os.getpid()))
        until_s = time.monotonic() + 60
        while len(list(self.notes.iterdir())) < self.together:
            assert time.monotonic() < until_s
            os.sched_yield()
        return LaneReport(task.work.lane, self.signal)


def test_processes_of_an_earlier_round_are_given_no_more_lanes_than_may_run_now(tmp_path: Path):
    engine = LocalEngine(2, 0, Noted(tmp_path, together=2))
    try:
        assert len(engine.run([lane(0), lane(1)], 2)) == 2
        assert len({note.read_text() for note in tmp_path.iterdir()}) == 2, "side by side"
        assert sorted(report.lane for report in engine.run([lane(2), lane(3)], 1)) == [2, 3]
        assert (tmp_path / "2").read_text() == (tmp_path / "3").read_text(), "one behind the other"
    finally:
        engine.close()


def test_lanes_that_wait_are_not_started_behind_one_that_ended_by_its_owners_wish(tmp_path: Path):
    engine = LocalEngine(1, 0, Noted(tmp_path, signal=Signal.AGAIN))
    try:
        assert [report.lane for report in engine.run([lane(0), lane(1)], 1)] == [0]
    finally:
        engine.close()


@pytest.mark.parametrize(("at_once", "tasks_of_spark"), [(None, 5), (9, 5), (3, 3), (1, 1)])
def test_spark_deals_lanes_to_as_many_tasks_as_may_run_side_by_side(at_once, tasks_of_spark):
    asked: list[int] = []

    class Session:
        def range(self, *given: int) -> Session:
            asked.extend(given)
            return self

        def mapInArrow(self, *_: object) -> Session:  # noqa: N802 - Spark's name
            return self

        def collect(self) -> list[Any]:
            return []

    collected(Session(), str, list(range(5)), at_once)
    assert asked == [0, 5, 1, tasks_of_spark]
