"""Tests a cluster that goes on with fewer slots than it had: tasks and claims leave those that are missing."""

from __future__ import annotations

import pytest
from captured_logs import capture_logs
from stepped_pair import CONFIG, Pair

from connect.api.errors import RetriableError
from connect.cluster.model.config_records import PlacementRecord, WorkerRecord, encode
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

OVERDUE_S = 60
"""The default of `task.overdue.ms`."""
GONE = WorkerRecord("gone:1", "http://gone:1", [5, 6, 7])


def of_more_slots(pair):
    """Write what a cluster of eight slots has left behind."""
    pair.cluster.configs.append(*encode(GONE))
    for slots in (None, [0, 1, 6, 7]):  # a task leaves its slot before it gets another
        pair.cluster.configs.append(*encode(PlacementRecord("c", slots)))


def lead_anew(pair):
    """Have the leader lose its slot and get it again, as at a start."""
    leader = pair.leader.membership
    leader.revoke(frozenset({0}))
    pair.settle()
    leader.hold(frozenset({0}))
    pair.settle()


def places(pair):
    return [pair.cluster.places(TaskId("c", number)) for number in range(4)]


ALL_RUN = [[(worker, State.RUNNING)] for worker in ("a:1", "b:1", "a:1", "b:1")]


def test_a_new_leader_takes_tasks_from_slots_that_are_missing():
    pair = Pair()
    pair.cluster.slots = 2
    of_more_slots(pair)
    with capture_logs() as lines:
        lead_anew(pair)
    assert sorted(places(pair)) == sorted(ALL_RUN)
    told = [line for line in lines if line["event"] == "slots_missing"]
    assert [(line["slots"], line["workers"], line["tasks"]) for line in told] == [(2, 1, ["c-2", "c-3"])]
    assert pair.leader.membership.view.urls.keys() == {"a:1", "b:1"}


def test_a_leader_takes_tasks_from_slots_that_go_while_it_leads():
    pair = Pair()
    pair.cluster.slots = 2
    of_more_slots(pair)
    pair.settle()
    assert [] in places(pair)
    pair.cluster.clock.now_s += OVERDUE_S
    for _ in range(3):
        pair.settle()
    assert sorted(places(pair)) == sorted(ALL_RUN)


def test_no_new_task_goes_to_a_worker_that_has_missing_slots_alone():
    pair = Pair()
    pair.cluster.slots = 2
    pair.cluster.configs.append(*encode(GONE))
    lead_anew(pair)
    pair.save({**CONFIG, "tasks.max": "8"})
    pair.settle()
    assert all(pair.cluster.places(TaskId("c", number)) for number in range(8))


@pytest.mark.parametrize("told", [0, 8, None])
def test_tasks_stay_where_slots_are_there_or_nobody_tells_their_number(told, monkeypatch):
    pair = Pair()
    pair.cluster.slots = told
    if told is None:

        def refuse():
            raise RetriableError("Nobody answers.")

        monkeypatch.setattr(pair.leader.reconciler._missing, "_count_slots", refuse)
    of_more_slots(pair)
    with capture_logs() as lines:
        lead_anew(pair)
    placed = pair.leader.reconciler.parts.configs.snapshot.placements
    assert {placed[TaskId("c", 2)], placed[TaskId("c", 3)]} == {6, 7}
    assert ("slots_not_counted" in [line["event"] for line in lines]) == (told is None)


def test_a_worker_that_claims_slots_while_they_are_counted_keeps_its_claim(monkeypatch):
    """All workers of a cluster that starts under another group claim theirs at the same moment."""
    pair = Pair()
    of_more_slots(pair)
    claimed = WorkerRecord(GONE.worker_id, GONE.url, [], process=7)

    def count():
        pair.cluster.configs.append(*encode(claimed))
        return 2

    monkeypatch.setattr(pair.leader.reconciler._missing, "_count_slots", count)
    lead_anew(pair)
    assert pair.leader.reconciler.parts.configs.snapshot.workers[GONE.worker_id].process == claimed.process
