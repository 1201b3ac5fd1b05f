"""Checks how far a job is, by its markers in whatever order they were read, and when it would be done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connect.backfill.job.job import Job
from connect.backfill.job.markers import Marker
from connect.backfill.job.pace import Pace
from connect.backfill.job.progress import JobProgress, MarkerTotals
from connect.backfill.job.states import JobState

SPEC = {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "orders"}}
RUNNING = Job(SPEC, JobState.RUNNING, "run", 10, 10_000, 0, (), (), (), created_ms=0, updated_ms=0)


def tally_of(*written_s, rows=1000):
    """Of a marker for each of these moments, lane by lane."""
    tally = MarkerTotals()
    for lane, moments in enumerate(written_s):
        for at_s in moments:
            tally.add(Marker(f"c{lane}-{at_s}", 0, rows, rows, 1, 1, True, written_ms=at_s * 1000), lane)
    return tally


def test_the_rate_is_of_the_half_minute_until_now_in_whatever_order_markers_were_read():
    by_lane = tally_of((70, 80, 100), (10, 20, 90))
    assert by_lane.rate(100_000) == pytest.approx(3000 / 30)
    assert tally_of((10,), (20,), (70,), (80,), (90,), (100,)).rate(100_000) == by_lane.rate(100_000)


def test_time_without_a_marker_counts_and_a_job_that_does_not_run_has_no_rate():
    tally = tally_of((90, 100))
    assert tally.progress(RUNNING, Pace(), 110_000).rows_per_second == pytest.approx(1000 / 20)
    assert tally.progress(RUNNING, Pace(), 200_000).eta_s is None, "nobody may be at work"
    for state in set(JobState) - {JobState.PLANNED, JobState.RUNNING}:
        told = tally.progress(replace(RUNNING, state=state), Pace(), 101_000)
        assert (told.rows_per_second, told.eta_s) == (0.0, None)
        assert "rows/s" not in told.line()


def test_a_clock_behind_that_of_the_lanes_divides_by_no_time():
    assert tally_of((90, 100)).rate(1000) == pytest.approx(1000 / 10)
    assert tally_of((100,)).rate(100_000) == MarkerTotals().rate(100_000) == 0.0


def test_a_job_is_done_no_sooner_than_its_limit_lets_it():
    tally = tally_of((99,), (100,))
    assert tally.progress(RUNNING, Pace(), 100_000).eta_s == pytest.approx(8)
    assert tally.progress(RUNNING, Pace(max_rows_per_second=100), 100_000).eta_s == pytest.approx(80)


@pytest.mark.parametrize(("resumed_s", "told"), [(0, "; no chunk for 60 s"), (130, "; no chunk for 30 s"), (150, "")])
def test_a_job_that_was_just_resumed_is_not_called_silent(resumed_s, told):
    job = replace(RUNNING, updated_ms=resumed_s * 1000)
    line = tally_of((100,)).progress(job, Pace(), 160_000).line()
    assert line.endswith(f"0 rows/s{told}")


def test_a_job_whose_lanes_have_not_begun_for_a_minute_says_where_to_look():
    def told(tally: MarkerTotals, now_s: int) -> str:
        return tally.progress(RUNNING, Pace(), now_s * 1000).line()

    assert told(MarkerTotals(), 61).endswith(
        "; no chunk for 61 s, and none before: see whether limits let it, its driver runs and Spark has executors"
    )
    assert told(MarkerTotals(), 60).endswith("; no chunk for 60 s")
    assert told(tally_of((1,)), 70).endswith("; no chunk for 69 s")


def test_without_a_job_there_is_nothing_to_tell():
    assert tally_of((1,)).progress(None, Pace(), 2000) == JobProgress()


def test_what_was_done_since_the_job_began_is_told_in_equal_spans():
    tally = tally_of((100, 101, 103, 107))
    assert tally.rates(0, 4) == [2000 / 2, 1000 / 2, 0.0, 1000 / 2]
    assert tally.rates(115_000, 2) == [4000 / 8, 0.0], "it has stood still since"
    assert tally_of((100,)).rates(0, 16) == [1000.0], "a second is the least"
    assert MarkerTotals().rates(0, 16) == []
