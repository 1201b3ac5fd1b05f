"""Checks the window that remembers what a number was of late."""

from __future__ import annotations

from connect.runtime.task.recent_values import WINDOW_S, RecentRate, RecentValues


def test_values_count_for_one_window_at_least_and_for_two_at_most():
    recent = RecentValues()
    assert recent.at(0.0) is None
    recent.add(100.0, 0.0)
    recent.add(2.0, WINDOW_S - 1)
    recent.add(4.0, WINDOW_S + 1)
    found = recent.at(WINDOW_S + 1)
    assert found is not None
    assert (found.average, found.least, found.largest) == (106 / 3, 2.0, 100.0)
    found = recent.at(2 * WINDOW_S + 0.5)
    assert found is not None
    assert (found.average, found.largest) == (4.0, 4.0), "the first window is over"
    assert recent.at(4 * WINDOW_S) is None


def test_a_rate_is_of_the_last_one_to_two_windows():
    rate = RecentRate(0.0)
    assert rate.at(0.0, 0.0) == 0.0
    assert rate.at(10.0, 10.0) == 1.0
    assert rate.at(10.0, WINDOW_S) == 10 / WINDOW_S
    assert rate.at(310.0, 2 * WINDOW_S) == 300 / WINDOW_S, "of what was before nothing is left"
