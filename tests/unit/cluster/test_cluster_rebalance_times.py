"""Checks how long a worker waited for its part of the work, and how starts ended."""

from __future__ import annotations

from connect.cluster.leader.rebalance_figures import RebalanceTimes
from connect.cluster.model.start_counts import StartCounts


def test_rebalances_are_counted_and_timed_from_their_beginning():
    now_s = 10.0
    times = RebalanceTimes(lambda: now_s)
    assert dict(times.figures()) == {"rebalancing": 0.0, "rebalances_total": 0.0}
    times.began()
    now_s = 12.0
    times.began()
    assert dict(times.figures())["rebalancing"] == 1.0
    now_s = 14.0
    times.ended()
    times.ended()
    now_s = 20.0
    assert dict(times.figures()) == {
        "rebalancing": 0.0, "rebalances_total": 2.0, "rebalance_s_max": 4.0, "rebalance_s_avg": 2.0,
        "rebalance_age_s": 6.0,
    }  # fmt: skip


def test_shares_are_of_starts_whose_end_is_known():
    counts = StartCounts()
    for _ in range(5):
        counts.tried()
    for well in (True, True, True, False):
        counts.ended(well=well)
    found = dict(counts.figures("task"))
    assert (found["task_starts_total"], found["task_starts_good_total"], found["task_starts_failed_total"]) == (5, 3, 1)
    assert (found["task_starts_good_ratio"], found["task_starts_failed_ratio"]) == (0.75, 0.25)
