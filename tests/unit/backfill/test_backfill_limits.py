"""Checks how fast a job goes, and when: what its owner says while it runs counts from then on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.bulk import SourceLoad
from connect.backfill.job.job import Job, JobPace, Jobs
from connect.backfill.job.pace import Pace, SourceGuard, Throttle, Window
from connect.backfill.job.pace_limits import limited, require_told
from connect.backfill.job.spec import BackfillSpec, Engine, Limits
from connect.backfill.job.states import JobState

SPEC = {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "c"}}


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("text", "hour", "is_open"),
    [
        ("22:00-06:00", 23, True), ("22:00-06:00", 5, True), ("22:00-06:00", 6, False), ("22:00-06:00", 12, False),
        ("09:30-17:00", 9, False), ("09:30-17:00", 16, True), ("09:30-17:00", 17, False),
        ("22:00-06:00 Europe/Berlin", 5, False), ("22:00-06:00 Europe/Berlin", 21, True),
    ],
)  # fmt: skip
def test_a_job_works_in_the_hours_of_its_window(text, hour, is_open):
    assert Window.parse(text).is_open(datetime(2026, 1, 15, hour, 0, tzinfo=UTC)) is is_open


def test_without_a_window_a_job_works_at_any_time():
    assert Pace().is_open(datetime(2026, 1, 15, 12, 0, tzinfo=UTC))


@pytest.mark.parametrize("text", ["22-06", "22:00-25:00", "22:00-06:00 Mars/Base", "always"])
def test_hours_that_are_none_are_told_with_what_to_write(text):
    with pytest.raises(ValueError, match="22:00-06:00 Europe/Berlin"):
        Window.parse(text)


def test_a_lane_keeps_to_its_share_of_the_stricter_limit():
    clock = Clock()
    throttle = Throttle(4, clock)
    pace = Pace(max_rows_per_second=1000, max_bytes_per_second=10_000)
    assert throttle.rest_s(pace, 500, 1000) == pytest.approx(2.0)
    assert throttle.rest_s(pace, 500, 50_000) == pytest.approx(22.0), "what was not waited for is owed"
    clock.now_s += 60
    assert throttle.rest_s(pace, 250, 0) == pytest.approx(1.0), "time that went by is no credit"
    assert throttle.rest_s(Pace(), 10**9, 10**9) == 0.0


@pytest.mark.parametrize(
    ("engine", "at_once"),
    [
        ({"type": "local"}, 2), ({"type": "local", "processes": 3}, 3), ({"master": "local[*,4]"}, 2),
        ({"master": "local[8,4]"}, 8), ({"master": "local-cluster[2,1,1024]"}, None), ({"master": "yarn"}, None),
        ({"remote": "sc://host"}, None),
    ],
)  # fmt: skip
def test_a_limit_is_shared_by_the_lanes_that_run_side_by_side(engine, at_once):
    assert Engine.model_validate(engine).lanes_at_once(machine_cores=2) == at_once


def test_limits_are_told_with_their_units():
    assert Pace().line() == "none"
    assert Pace(5000, 2_000_000, "22:00-06:00 UTC", 8, 30.0, 6).line() == (
        "5,000 rows/s, 2,000,000 bytes/s, the hours 22:00-06:00 UTC, 8 active sessions of the source, "
        "replicas 30 s behind, 6 connections to the source"
    )


def test_the_limits_that_were_said_last_count_for_lanes_and_for_who_goes_on_with_the_job():
    job = Job(SPEC, JobState.RUNNING, "r", 1, 1, 1, (), (), (), 0, 0)
    jobs = Jobs([job.record])
    assert jobs.spec(job).limits == Limits()
    jobs.apply(*JobPace("orders", Pace(5, 7, "22:00-06:00")).record)
    assert jobs.spec(job).limits.pace == jobs.paces["orders"] == Pace(5, 7, "22:00-06:00")
    assert jobs.spec(job).limits.max_chunk_retries == Limits().max_chunk_retries
    assert jobs.jobs["orders"].state is JobState.RUNNING


def test_a_source_is_left_alone_while_it_is_busier_than_the_pace_allows():
    pace = Pace(max_active_sessions=5, max_replica_lag=30.0)
    assert pace.is_guarded
    assert not Pace(max_rows_per_second=1).is_guarded
    loads = [SourceLoad(5, 30.0), SourceLoad(6, 0.0), SourceLoad(0, 30.5), SourceLoad(None, None)]
    assert [pace.bears(load) for load in loads] == [True, False, False, True]
    assert Pace().bears(SourceLoad(10**6, 10.0**6))


def test_a_source_is_asked_every_few_seconds_alone_and_one_that_does_not_answer_is_left_alone():
    clock, answers = Clock(), [SourceLoad(1, 0.0), None, SourceLoad(9, 0.0), SourceLoad(2, 0.0)]

    def ask() -> SourceLoad:
        answer = answers.pop(0)
        if answer is None:
            raise RetriableError("away")
        return answer

    guard, pace = SourceGuard(ask, clock), Pace(max_active_sessions=2)
    assert guard.allows(Pace())
    assert len(answers) == 4, "nobody wants to know"
    found = []
    for _ in range(4):
        found += [guard.allows(pace), guard.allows(pace)]
        clock.now_s += 2.5
        found += [guard.allows(pace)]
        clock.now_s += 2.5
    assert found == [True] * 3 + [False] * 6 + [True] * 3
    clock.now_s -= 1
    assert guard.allows(Pace(max_active_sessions=1)) is False, "another limit counts for what is known"


def test_a_limit_on_what_the_source_does_not_tell_is_refused():
    pace = Pace(max_active_sessions=5, max_replica_lag=30.0)
    require_told(pace, SourceLoad(1, 0.0))
    require_told(Pace(), SourceLoad(None, None))
    with pytest.raises(ConfigError) as caught:
        require_told(pace, SourceLoad(None, None))
    assert [problem.key for problem in caught.value.problems] == [
        "limits.max_active_sessions",
        "limits.max_replica_lag",
    ]


def test_limits_change_one_by_one_and_every_mistake_is_told():
    begun = BackfillSpec.model_validate(SPEC | {"limits": {"max_rows_per_second": 9}}).limits
    changed = limited(begun, {"max_bytes_per_second": "2KiB"})
    assert changed.pace == Pace(9, 2048, "")
    assert limited(changed, {"source_connections": 6}).pace == Pace(9, 2048, source_connections=6)
    assert limited(changed, {"max_replica_lag": "2m", "max_active_sessions": 7}).pace == Pace(9, 2048, "", 7, 120.0)
    with pytest.raises(ConfigError) as caught:
        limited(begun, {"chunk_timeout": "5s", "window": "at night", "max_rows_per_second": -1})
    assert sorted(problem.key for problem in caught.value.problems) == [
        "limits.chunk_timeout", "limits.max_rows_per_second", "limits.window",
    ]  # fmt: skip
