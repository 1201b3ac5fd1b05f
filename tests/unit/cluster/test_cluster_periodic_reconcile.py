"""Everything is looked at again soon after a change, and seldom while nothing happens."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest
from many_workers import ManyWorkers

from connect.cluster.herder import reconcile
from connect.cluster.herder.periodic_reconcile import QUIET_S, SELDOM_S, PeriodicReconcile
from connect.cluster.loop.membership import NOBODY
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


class Looks:
    """Asks each second, and looks when that is due."""

    def __init__(self):
        self.now_s, self.posted = 1000.0, []
        self.claims, self.membership = SimpleNamespace(next_offset=0), SimpleNamespace(view=NOBODY, may_work=True)
        self.statuses = SimpleNamespace(changes=0)
        parts = SimpleNamespace(
            loop=SimpleNamespace(post=lambda description, step: self.posted.append(step)),
            configs=SimpleNamespace(claims=self.claims, lost_claim=False),
            statuses=self.statuses,
            membership=self.membership,
        )
        self.asked_for_all = 0
        self.looks = PeriodicReconcile(parts, lambda: self.now_s, self.ask_for_all)

    def ask_for_all(self):
        self.asked_for_all += 1

    def pass_seconds(self, seconds):
        """Return after how many seconds there was a look."""
        found = []
        for second in range(1, seconds + 1):
            self.now_s += 1.0
            self.posted.clear()
            self.looks.look()
            if self.posted:
                self.looks.looked(at_all=True)
                found.append(second)
        return found


CHANGES = {
    "a record of the config topic": lambda looks: setattr(looks.claims, "next_offset", 1),
    "a record of the status topic": lambda looks: setattr(looks.statuses, "changes", 1),
    "another view of the group": lambda looks: setattr(looks.membership, "view", replace(NOBODY, generation=1)),
    "a lease that has run out": lambda looks: setattr(looks.membership, "may_work", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_everything_is_looked_at_each_second_for_a_while(change):
    looks = Looks()
    assert looks.pass_seconds(5) == [1, 2, 3, 4, 5]
    looks.pass_seconds(61)
    CHANGES[change](looks)
    assert looks.pass_seconds(10) == list(range(1, 11))


def test_without_a_change_everything_is_looked_at_seldom_and_never_left_alone():
    looks = Looks()
    looks.pass_seconds(round(QUIET_S) + 1)
    quiet = looks.pass_seconds(600)
    assert 600 / SELDOM_S - 1 <= len(quiet) <= 600 / SELDOM_S + 1
    assert max(later - sooner for sooner, later in itertools.pairwise(quiet)) <= SELDOM_S
    assert looks.asked_for_all >= len(quiet)


def test_looks_at_some_connectors_put_off_none_at_all_of_them():
    looks = Looks()
    looks.pass_seconds(60)
    found = []
    for second in range(round(2 * SELDOM_S)):
        looks.looks.looked(at_all=False)
        found += [second] * len(looks.pass_seconds(1))
    assert len(found) >= 2


def test_a_change_that_was_seen_by_a_look_of_another_cause_counts_all_the_same():
    looks = Looks()
    looks.pass_seconds(60)
    looks.statuses.changes += 1
    looks.looks.looked(at_all=False)
    assert looks.pass_seconds(3) == [1, 2, 3]


def counted(many, monkeypatch):
    """Return the list that grows by one with each time the leader reconciles everything."""
    looks, real = [], many.leader.reconciler.connectors.reconcile
    monkeypatch.setattr(many.leader.reconciler.connectors, "reconcile", lambda *given: (looks.append(1), real(*given)))
    return looks


def settled(monkeypatch):
    many = ManyWorkers(3)
    many.create(6, 2)
    many.settle(60)
    for _ in range(round(QUIET_S) + 1):
        many._turn()
    return many, counted(many, monkeypatch)


def test_a_leader_of_a_cluster_in_which_nothing_happens_looks_at_its_connectors_seldom(monkeypatch):
    many, looks = settled(monkeypatch)
    for _ in range(60):
        many._turn()
    assert 60 / SELDOM_S / 2 <= len(looks) <= 60 / SELDOM_S + 1


def test_a_status_of_another_worker_is_seen_within_a_second(monkeypatch):
    many, looks = settled(monkeypatch)
    while len(looks) == 0:
        many._turn()
    looks.clear()
    many._say(TaskId("c0", 0), State.FAILED, "paper-1:1")
    for _ in range(2):
        many._turn()
    assert len(looks) == 2
    assert reconcile.LOOK_S == 1.0
