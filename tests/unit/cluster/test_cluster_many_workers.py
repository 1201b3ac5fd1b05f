"""Runs many connectors on many workers: each task has one place, and the leader's CPU grows with their number, no
faster.
"""

from collections import Counter

import pytest
from many_workers import ManyWorkers

from connect.cluster.herder.periodic_reconcile import QUIET_S
from connect.runtime.task.state import State

TASKS = 2
SETTLE_S = 60
IDLE_S = 10

pytestmark = pytest.mark.thorough


def places(many):
    """Return where each task runs; a task that runs on two workers is found twice."""
    leads = [
        task for host in many.leader.live_hosts() for task, (_, state) in host.runs.items() if state is State.RUNNING
    ]
    return [*many.running.items(), *((task, many.leader.id) for task in leads)]


def assert_each_runs_once(many, connectors):
    found = places(many)
    assert len(found) == len({task for task, _ in found}) == connectors * TASKS
    load = Counter(place for _, place in found)
    assert set(load) == {*many.slots_of, many.leader.id}
    assert max(load.values()) - min(load.values()) <= 1


def created(workers, connectors):
    many = ManyWorkers(workers)
    many.create(connectors, TASKS)
    many.settle(SETTLE_S)
    assert_each_runs_once(many, connectors)
    return many


def idle_cpu_s(many):
    for _ in range(round(QUIET_S)):
        many._turn()
    began_s = many.leader_cpu_s
    for _ in range(IDLE_S):
        many._turn()
    return (many.leader_cpu_s - began_s) / IDLE_S


# The larger one takes a minute, and shows nothing else: its figures stand in docs/design/size-on-paper.md.
@pytest.mark.parametrize(("workers", "connectors"), [(50, 1200), pytest.param(100, 5000, marks=pytest.mark.chaos)])
def test_each_task_has_one_place_when_workers_die_and_the_leader_keeps_up(workers, connectors):
    few, many = created(workers, connectors // 4), created(workers, connectors)
    start_s, idle_s, few_idle_s = many.leader_cpu_s, idle_cpu_s(many), idle_cpu_s(few)
    told = [f"to start {start_s:.1f} s ({few.leader_cpu_s:.1f} s for a quarter)", f"each second {idle_s:.3f} s"]
    for worker in ("paper-7:1", "paper-42:1"):
        began_s, before = many.leader_cpu_s, dict(places(many))
        many.lose(worker)
        seconds = many.settle(SETTLE_S)
        assert_each_runs_once(many, connectors)
        moved = sum(before[task] != place for task, place in places(many))
        lost = sum(place == worker for place in before.values())
        assert lost <= moved < 3 * lost
        told.append(f"after a worker's end {many.leader_cpu_s - began_s:.1f} s in {seconds} s, {moved} tasks moved")
    print(f"the leader's CPU: {', '.join(told)}", flush=True)  # noqa: T201 - these figures stand in docs/design/size-on-paper.md
    assert idle_s < 10 * few_idle_s + 0.05
    assert start_s < 10 * few.leader_cpu_s
