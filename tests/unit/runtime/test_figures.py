"""Checks what a task counts."""

from __future__ import annotations

import pytest

from connect.runtime.task.task_metrics import TaskFigures


def test_the_lag_of_a_source_grows_until_it_has_caught_up_further():
    now_s = 100.0
    figures = TaskFigures(clock_s=lambda: now_s)
    assert "source_lag_s" not in figures.snapshot()
    figures.caught_up(98.0, behind=True)
    assert figures.snapshot()["source_lag_s"] == 2.0
    now_s = 160.0
    assert figures.snapshot()["source_lag_s"] == 62.0
    figures.caught_up(159.5, behind=True)
    assert figures.snapshot()["source_lag_s"] == 0.5


def test_a_source_that_has_nothing_more_is_not_behind_however_long_ago_it_was_looked_at():
    now_s = 100.0
    figures = TaskFigures(clock_s=lambda: now_s)
    figures.caught_up(99.0)
    now_s = 103.2
    found = figures.snapshot()
    assert (found["source_lag_s"], round(found["caught_up_age_s"], 1)) == (0.0, 4.2)


def test_a_source_that_cannot_be_asked_may_be_behind():
    figures = TaskFigures(clock_s=lambda: 160.0)
    figures.caught_up(100.0)
    figures.is_away()
    assert figures.snapshot()["source_lag_s"] == 60.0
    figures.caught_up(158.0)
    assert figures.snapshot()["source_lag_s"] == 0.0


@pytest.mark.parametrize(("rows", "told"), [(0.0, None), (5.0, 5.0)])
def test_of_a_source_that_is_not_asked_nobody_knows_that_no_row_waits(rows, told):
    figures = TaskFigures()
    figures.set("source_lag_rows", rows)
    figures.is_away()
    assert figures.snapshot().get("source_lag_rows") == told


def test_rows_are_counted_by_how_long_they_were_on_their_way():
    figures = TaskFigures()
    assert not [name for name in figures.snapshot() if name.startswith("latency")]
    figures.arrived(0.3, 10)
    figures.arrived(7.0, 5)
    figures.arrived(99_999.0, 1)
    found = figures.snapshot()
    assert [found[f"latency_le_{bound}"] for bound in ("0.25", "0.5", "5.0", "10.0", "1800.0", "+Inf")] == [
        0.0, 10.0, 10.0, 15.0, 15.0, 16.0
    ]  # fmt: skip
    assert found["latency_sum_s"] == 10 * 0.3 + 5 * 7.0 + 99_999.0


def test_measured_values_are_told_by_average_and_extreme_and_flushes_by_their_shares():
    figures = TaskFigures()
    for rows in (10, 30):
        figures.measure("batch_rows", rows)
    for well in (True, True, True, False):
        figures.flushed(well=well)
    found = figures.snapshot()
    assert (found["batch_rows_avg"], found["batch_rows_max"]) == (20.0, 30)
    assert (found["flush_failure_ratio"], found["flush_success_ratio"]) == (0.25, 0.75)
    assert found["flush_failures_total"] == 1.0


def test_the_share_of_time_in_each_state_is_told():
    figures = TaskFigures()
    figures.is_now("paused")
    found = figures.snapshot()
    assert found["running_ratio"] == 0.0
    assert 0.0 < found["paused_ratio"] <= 1.0


def test_a_database_whose_clock_is_ahead_has_no_lag_below_nothing():
    figures = TaskFigures(clock_s=lambda: 100.0)
    figures.caught_up(130.0)
    assert figures.snapshot()["source_lag_s"] == 0.0


def test_a_source_is_behind_until_it_has_caught_up_and_when_that_is_long_ago():
    now_s = 100.0
    figures = TaskFigures(clock_s=lambda: now_s)
    assert not figures.is_behind(), "a source that tells no lag is read for latency"
    figures.caught_up(100.0)
    assert figures.is_behind(), "told as it was opened: nothing is read yet"
    figures.caught_up(100.5)
    assert not figures.is_behind()
    now_s = 103.6
    assert figures.is_behind()


def test_a_gauge_that_is_not_known_any_more_is_not_told():
    figures = TaskFigures()
    figures.unset("source_lag_rows")
    figures.set("source_lag_rows", 7.0)
    assert figures.snapshot()["source_lag_rows"] == 7.0
    figures.unset("source_lag_rows")
    assert "source_lag_rows" not in figures.snapshot()
