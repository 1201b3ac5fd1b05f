"""A clock of day that is set anew makes no false alarm, hides none, and delays none."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from connect.alerts.alerting import Alerting
from connect.alerts.facts import Facts, Kind, Thresholds
from connect.cluster.model.statuses import OverdueTask
from connect.runtime.task.task_id import TaskId

HOUR_S = 3600.0
LIMIT_S = 600
LOOK_S = 5.0
LIMITS = Thresholds(lag_rows=0, stalled_ms=LIMIT_S * 1000, dead_letters=10)


class Leader:
    """Looks each five seconds, at a cluster whose clock of day can be set anew."""

    def __init__(self, *, set_s=0.0):
        self.steady_s, self.set_s, self.told = 50.0, set_s, []
        memory = SimpleNamespace(told_alerts=dict, remember_alert=lambda *_: None)
        self.alerting = Alerting(LIMITS, memory, lambda _: None, lambda: self.steady_s)
        self.alerting.outbox.add = lambda events: self.told.extend(
            (event.alert.subject.kind, event.is_over) for event in events
        )
        self.since = self.overdue_ms = None
        self.figures = {}

    @property
    def now_ms(self):
        return round(1000 * (1_700_000_000 + self.steady_s + self.set_s))

    def begins_to_wait(self):
        self.since = datetime.fromtimestamp(self.now_ms / 1000, UTC).isoformat()

    def pass_s(self, seconds):
        """Return what was told in so many seconds, and after how many of them the first was."""
        before, first_s, end_s = len(self.told), None, self.steady_s + seconds
        while self.steady_s < end_s:
            self.steady_s += LOOK_S
            self._look()
            if first_s is None and len(self.told) > before:
                first_s = seconds - (end_s - self.steady_s)
        return self.told[before:], first_s

    def _look(self):
        task = {"id": 0, "state": "RUNNING"}
        if self.since is not None:
            task |= {"reason": "put has failed", "waiting_for": "sink", "since": self.since}
        overdue = () if self.overdue_ms is None else (OverdueTask(TaskId("c", 1), "No status.", self.overdue_ms),)
        status = {"name": "c", "connector": {"state": "RUNNING"}, "tasks": [task]}
        self.alerting.look(Facts(self.now_ms, {"c": status}, overdue, self.figures), heard_all=True)


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S, 24 * HOUR_S])
def test_a_task_that_waits_is_told_after_as_long_as_it_takes_though_the_clock_jumps(jump_s):
    leader = Leader()
    leader.pass_s(60)
    leader.begins_to_wait()
    assert leader.pass_s(300) == ([], None)
    leader.set_s += jump_s
    told, first_s = leader.pass_s(600)
    assert told == [(Kind.STALLED, False)]
    assert LIMIT_S - 300 - 2 * LOOK_S <= first_s <= LIMIT_S - 300 + 2 * LOOK_S


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S])
def test_a_wait_that_another_worker_tells_whose_clock_has_jumped_is_none_of_an_hour(jump_s):
    leader = Leader()
    leader.pass_s(60)
    leader.since = datetime.fromtimestamp(leader.now_ms / 1000 - jump_s, UTC).isoformat()
    assert leader.pass_s(LIMIT_S - 20) == ([], None)
    assert leader.pass_s(60)[0] == [(Kind.STALLED, False)]


def test_an_overdue_task_is_told_after_as_long_as_it_takes_though_the_clock_jumps():
    leader = Leader()
    leader.pass_s(60)
    leader.overdue_ms = leader.now_ms
    leader.set_s += HOUR_S
    assert leader.pass_s(LIMIT_S - 20) == ([], None)
    assert leader.pass_s(60)[0] == [(Kind.STALLED, False)]


def test_a_new_leader_believes_what_it_finds():
    leader = Leader()
    leader.since = datetime.fromtimestamp(leader.now_ms / 1000 - LIMIT_S + 60, UTC).isoformat()
    told, first_s = leader.pass_s(120)
    assert told == [(Kind.STALLED, False)]
    assert first_s == pytest.approx(60, abs=2 * LOOK_S)


def test_dead_letters_of_an_hour_are_those_of_an_hour_though_the_clock_jumps():
    leader = Leader()
    leader.figures = {"c-0": {"dead_letters_total": 0.0}}
    leader.pass_s(60)
    leader.figures = {"c-0": {"dead_letters_total": 11.0}}
    assert leader.pass_s(LOOK_S)[0] == [(Kind.DEAD_LETTERS, False)]
    leader.set_s += 2 * HOUR_S
    assert leader.pass_s(HOUR_S - 60) == ([], None)
    assert leader.pass_s(600)[0] == [(Kind.DEAD_LETTERS, True)]
