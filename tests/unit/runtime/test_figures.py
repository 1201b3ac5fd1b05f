"""What a task counts."""

from __future__ import annotations

from connect.runtime.task.task_metrics import TaskFigures


def test_the_lag_of_a_source_grows_until_it_has_caught_up_further():
    now_s = 100.0
    figures = TaskFigures(clock_s=lambda: now_s)
    assert "source_lag_s" not in figures.snapshot()
    figures.caught_up(98.0)
    assert figures.snapshot()["source_lag_s"] == 2.0
    now_s = 160.0
    assert figures.snapshot()["source_lag_s"] == 62.0
    figures.caught_up(159.5)
    assert figures.snapshot()["source_lag_s"] == 0.5


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
