"""A look costs what has changed, and leaves nothing undone that a look at everything would do."""

from __future__ import annotations

import pytest
from many_workers import ManyWorkers
from test_cluster_churn import STEPS, Churn, assert_all_run_once

from connect.cluster.herder.changed_connectors import ChangedConnectors
from connect.cluster.herder.periodic_reconcile import QUIET_S
from connect.cluster.herder.task_runs import _placed_here
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.plan import plan
from connect.cluster.model.recent_changes import RecentChanges

CONNECTORS = 60


def settled():
    many = ManyWorkers(3)
    many.create(CONNECTORS, 2)
    many.settle(60)
    for _ in range(round(QUIET_S) + 1):
        many._turn()
    return many


def without_time(many):
    """Let everybody do what there is to do, until the timed look at everything is due."""
    for _ in range(6):
        many._lead()
        for host in many.leader.talking():
            while host.heard:
                host.answer()
        many._work_on_paper()


def test_a_new_connector_runs_while_no_other_one_is_looked_at(monkeypatch):
    many = settled()
    asked, real = [], many.cluster.kind
    monkeypatch.setattr(many.cluster, "kind", lambda config: asked.append(config.get("name")) or real(config))
    config = {"connector.class": "Source", "tasks.max": "2"}
    many.leader.request(lambda: many.leader.requests.create("new", config, None, "test"))
    without_time(many)
    found = [task for task in many.running if task.connector == "new"]
    assert len(found) + len([t for h in many.leader.live_hosts() for t in h.runs if t.connector == "new"]) == 2
    assert set(asked) == {"new"}


def test_a_connector_that_is_deleted_is_forgotten_while_no_other_one_is_looked_at(monkeypatch):
    many = settled()
    asked, real = [], many.cluster.kind
    monkeypatch.setattr(many.cluster, "kind", lambda config: asked.append(config.get("name")) or real(config))
    many.leader.request(lambda: many.leader.requests.delete("c7"))
    without_time(many)
    assert not [task for host in many.leader.live_hosts() for task in host.runs if task.connector == "c7"]
    assert "c7" not in many.leader.reconciler.parts.statuses.names()
    assert set(asked) <= {"c7"}


def held_to_plan(worker, looks):
    """Fail where a look at some connectors leaves a step undone that a look at all of them would take."""
    reconciler = worker.reconciler
    runs, real = reconciler.tasks, reconciler.tasks.reconcile

    def reconcile(snapshot, view, only=None):
        real(snapshot, view, only)
        if only is None or snapshot.next_offset != reconciler._changed._looks[0]:
            return  # what was read since this look began is for the next one
        looks.append(1)
        placed = _placed_here(snapshot, view, None)
        desired = {task: spec for task in placed if (spec := runs._desired(snapshot, task)) is not None}
        assert plan(desired, desired.keys(), runs._running) == []
        assert runs._assigned == desired.keys()

    runs.reconcile = reconcile


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(6, 60))])
def test_a_look_at_what_has_changed_leaves_no_step_undone(seed):
    churn, looks = Churn(seed), []
    for worker in churn.cluster.workers:
        held_to_plan(worker, looks)
    for _ in range(STEPS):
        churn.step()
    churn.rest()
    assert_all_run_once(churn)
    assert looks


class Topic:
    """Tells what a topic tells of its last records."""

    def __init__(self):
        self.changes, self.names, self.recent = 0, frozenset(), self

    def changed_since(self, place):
        del place
        return self.names

    since = changed_since


def test_all_are_looked_at_when_the_group_has_changed_or_the_last_look_failed():
    configs, statuses = Topic(), Topic()
    changed = ChangedConnectors(configs, statuses)
    snapshot = ConfigSnapshot(next_offset=7)
    assert changed.begin(snapshot, "group") is None
    changed.end()
    configs.names, statuses.names = frozenset({"a"}), frozenset({"b"})
    assert changed.begin(snapshot, "group") == {"a", "b"}
    assert changed.begin(snapshot, "group") is None, "the look before did not end"
    changed.end()
    assert changed.begin(snapshot, "another group") is None
    changed.end()
    changed.forget()
    assert changed.begin(snapshot, "another group") is None
    changed.end()
    statuses.names = None
    assert changed.begin(snapshot, "another group") is None, "more records were read than are remembered"
    changed.end()
    statuses.names = frozenset()
    assert changed.begin(ConfigSnapshot(next_offset=3), "another group") is None, "the topic began anew"


def test_so_many_changes_are_remembered_and_who_is_further_behind_hears_that():
    recent = RecentChanges(most=3)
    assert recent.since(0) == frozenset()
    for at, name in enumerate("abab"):
        recent.add(at, name)
    assert (recent.since(1), recent.since(3), recent.since(4)) == ({"a", "b"}, {"b"}, frozenset())
    assert recent.since(0) is None
