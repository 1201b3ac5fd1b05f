"""What a task counts."""

from __future__ import annotations

from connect.runtime.figures import TaskFigures


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
