"""How long a job takes by the last one like it: which one is chosen, and what pauses and starts count for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connect.backfill.estimate import Speed, like
from connect.backfill.job import Job, JobState
from connect.backfill.markers import Marker
from connect.backfill.spec import BackfillSpec


def job(name="orders-1", *, connector="orders", engine="local", state=JobState.COPIED, updated_ms=0, rows=1000):
    spec = {"apiVersion": "backfill/v1", "name": name, "source": {"connector": connector}, "engine": {"type": engine}}
    return Job(spec, state, "run", 10, rows, 500_000, (), (), (), created_ms=1_000, updated_ms=updated_ms)


def written(*at_s, rows=100):
    """A part of so many rows at each of these seconds behind the job's creation."""
    return [Marker(f"c{n}", 0, rows, rows, 1, 1, True, written_ms=1_000 + at * 1000) for n, at in enumerate(at_s)]


def test_rows_per_second_count_from_the_first_part_on_which_tells_the_start():
    speed = Speed.of(job(), written(12, 14, 13, 16))
    assert (speed.start_s, speed.rows_per_second) == (12.0, 300 / 4)
    assert speed.size_bytes_per_second == speed.rows_per_second * 500
    assert speed.seconds(rows=750, size_bytes=0) == 12.0 + 10.0
    assert speed.seconds(rows=750, size_bytes=750 * 1000) == 12.0 + 20.0, "rows of twice the size"
    assert replace(speed, size_bytes_per_second=0.0).seconds(750, 750 * 1000) == 12.0 + 10.0


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
