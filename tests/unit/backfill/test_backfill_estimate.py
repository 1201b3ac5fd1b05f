"""Checks how long a job takes by the last one like it: which one is chosen, and what pauses and starts count for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connect.backfill.estimate import Estimate, Speed, cores_at_work, first_estimate, like, within_limits
from connect.backfill.job.core_speed import core_speed
from connect.backfill.job.job import Job
from connect.backfill.job.markers import Marker
from connect.backfill.job.pace import Pace
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState


def job(name="orders-1", *, connector="orders", engine="local", state=JobState.COPIED, updated_ms=0, rows=1000):
    spec = {"apiVersion": "backfill/v1", "name": name, "source": {"connector": connector}, "engine": {"type": engine}}
    return Job(spec, state, "run", 10, rows, 500_000, (), (), (), created_ms=1_000, updated_ms=updated_ms)


def written(*at_s, rows=100):
    """A part of so many rows at each of these seconds behind the job's creation."""
    return [Marker(f"c{n}", 0, rows, rows, 1, 1, True, written_ms=1_000 + at * 1000) for n, at in enumerate(at_s)]


def test_rows_per_second_count_from_the_first_part_on_which_tells_the_start():
    speed = Speed.of(job(), written(12, 14, 13, 16))
    assert (speed.start_s, speed.rows_per_second) == (14.0, 300 / 4), "2 s of it before the job is there"
    assert speed.size_bytes_per_second == speed.rows_per_second * 500
    assert speed.seconds(rows=750, size_bytes=0) == 14.0 + 10.0
    assert speed.seconds(rows=750, size_bytes=750 * 1000) == 14.0 + 20.0, "rows of twice the size"
    assert replace(speed, size_bytes_per_second=0.0).seconds(750, 750 * 1000) == 14.0 + 10.0


def test_a_pause_of_the_job_is_no_time_in_which_it_worked():
    speed = Speed.of(job(), written(1, 2, 3, 3 + 3600, 3 + 3601))
    assert speed.rows_per_second == pytest.approx(400 / (2 + 20 + 1))


@pytest.mark.parametrize("found", [[], written(5), written(5, 6)])
def test_a_short_job_tells_nothing(found):
    assert Speed.of(job(), found) is None


def test_the_newest_job_of_the_same_connector_tells_most_and_others_only_of_the_same_engine():
    spec = BackfillSpec.model_validate(job("orders-3").spec)
    known = [
        job("parcels", connector="parcels", updated_ms=9), job("orders-1", updated_ms=3), job("orders-2", updated_ms=4),
        job("by-spark", engine="spark", updated_ms=10), job("half", state=JobState.FAILED, updated_ms=11),
        job("orders-3", updated_ms=12),
    ]  # fmt: skip
    assert [one.name for one in like(spec, 1000, known)] == ["orders-2", "orders-1", "parcels"]


def test_a_job_as_large_tells_more_than_a_newer_one_that_is_mostly_start():
    spec = BackfillSpec.model_validate(job("orders-4").spec)
    known = [
        job("small", rows=900, updated_ms=9), job("large", rows=5000, updated_ms=3), job("equal", updated_ms=4)
    ]  # fmt: skip
    assert [one.name for one in like(spec, 1000, known)] == ["equal", "large", "small"]


def spec_of(engine, *, kind="source", lanes=4):
    target = {} if kind == "source" else {"target": {"connector": "orders"}}
    return BackfillSpec.model_validate(
        {
            "apiVersion": "backfill/v1", "name": "first", "kind": kind, "source": {"connector": "orders"},
            "engine": engine, "chunking": {"lanes": lanes}, **target,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "lanes", "cores"),
    [
        ({"type": "local"}, 4, 2), ({"type": "local", "processes": 1}, 4, 1), ({"type": "local"}, 1, 1),
        ({"master": "local[*,4]"}, 4, 2), ({"master": "local[8,4]"}, 4, 2), ({"master": "local[1,4]"}, 4, 1),
        ({"master": "spark://m:7077"}, 4, 4), ({"remote": "sc://host"}, 6, 6),
    ],
)  # fmt: skip
def test_a_lane_fills_a_core_as_far_as_there_are_cores(engine, lanes, cores):
    assert cores_at_work(spec_of(engine, lanes=lanes), machine_cores=2, reader_connections=1) == cores


def told_first(engine, *, rows, size_bytes=0, speed=1.0, kind="source"):
    return first_estimate(spec_of(engine, kind=kind), rows, size_bytes, cores=2, speed=speed)


def test_the_first_job_of_a_cluster_is_told_by_a_rule_of_thumb_that_says_what_it_is():
    told = told_first({"type": "local"}, rows=3_000_000)
    assert told.duration_s == pytest.approx(7 + 10)
    assert told.basis.startswith("rule of thumb, as no job of this kind and engine has ended yet")
    assert "150,000 rows/s or 142 MB/s on each of 2 cores as fast as one is here now, after 7 s of start" in told.basis
    large = told_first({"type": "local"}, rows=1000, size_bytes=2_840_000_000)
    assert large.duration_s == pytest.approx(7 + 10), "large rows by their bytes"
    assert told_first({"master": "local[*,4]"}, rows=2_900_000).duration_s == pytest.approx(19 + 10)


def test_half_of_the_rule_of_thumb_goes_by_how_fast_the_machine_is():
    told = told_first({"type": "local"}, rows=3_000_000, speed=0.5)
    assert told.duration_s == pytest.approx(1.5 * (7 + 10))
    assert "100,000 rows/s or 95 MB/s" in told.basis


def test_the_speed_of_a_core_is_measured_as_times_that_of_the_bench():
    assert 0.01 < core_speed() < 100


def test_of_a_kind_without_figures_nothing_is_told():
    told = told_first({"type": "local"}, rows=1000, kind="copy")
    assert (told.duration_s, "rule of thumb" in told.basis) == (None, False)


@pytest.mark.parametrize(
    ("pace", "duration_s", "basis"),
    [
        (Pace(), 10.0, "by thumb"),
        (Pace(max_rows_per_second=1000), 10.0, "by thumb"),
        (Pace(max_rows_per_second=50), 100.0, "the job's own limits on rows and bytes per second"),
        (Pace(1000, 10, "22:00-06:00"), 200.0,
         "the job's own limits on rows and bytes per second; of the hours 22:00-06:00 alone"),
    ],
)  # fmt: skip
def test_a_job_takes_at_least_what_its_limits_say(pace, duration_s, basis):
    assert within_limits(Estimate(10.0, "by thumb"), pace, 5000, 2000) == Estimate(duration_s, basis)
    assert within_limits(Estimate(None, "nothing"), pace, 5000, 2000).duration_s is None
