"""Checks that the leader's CPU time for placing tasks grows no faster than their number; load does not change that
time.
"""

import time
from types import SimpleNamespace

import pytest

from connect.cluster.leader.task_placement import TaskPlacer
from connect.cluster.model.placement import moves, place
from connect.runtime.task.task_id import TaskId

WORKERS, SLOTS, TIMES = 100, 500, 4
MOST = 2.5 * TIMES
"""Four times the tasks may cost so many times the CPU; work that grows with the square costs sixteen times."""
SPREAD = {slot: f"w{slot % WORKERS}" for slot in range(SLOTS)}
CROWDED = {slot: "w0" if slot < SLOTS * 0.9 else f"w{slot % WORKERS}" for slot in range(SLOTS)}


def tasks_of(connectors):
    return [TaskId(f"c{number}", task) for number in range(connectors) for task in range(2)]


def placing(connectors):
    tasks = tasks_of(connectors)
    return lambda: place(tasks, {}, SPREAD)


def moving(connectors):
    """One worker has nine tenths of the slots, as where the others have just come."""
    placed = {task: number % SLOTS for number, task in enumerate(tasks_of(connectors))}
    return lambda: moves(placed, CROWDED, lambda task: True)


def writing(connectors):
    placed = {task: number % SLOTS for number, task in enumerate(tasks_of(connectors))}
    snapshot = SimpleNamespace(tasks={task.connector: {0: {}, 1: {}} for task in placed}, placements=placed)
    written = []

    def write():
        written.clear()
        TaskPlacer(SimpleNamespace(put=lambda *records: written.extend(records)), None)._write(
            snapshot, set(placed), {}
        )
        assert len(written) == connectors

    return write


def cpu_s(work):
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


@pytest.mark.parametrize("work", [placing, moving, writing])
def test_four_times_the_connectors_cost_the_leader_four_times_the_cpu(work):
    few, many = (min(cpu_s(work(connectors)) for _ in range(3)) for connectors in (5000 // TIMES, 5000))
    assert many < MOST * few + 0.01, f"{few:.3f} s for 1,250 connectors, {many:.3f} s for 5,000"


def test_5_000_connectors_on_100_workers_are_spread_evenly_and_a_new_worker_gets_its_share():
    tasks = tasks_of(5000)
    placed = place(tasks, {}, SPREAD)
    by_worker = [sum(SPREAD[slot] == worker for slot in placed.values()) for worker in set(SPREAD.values())]
    assert set(by_worker) == {len(tasks) // WORKERS}
    joined = {**SPREAD, **dict.fromkeys(range(0, SLOTS, WORKERS + 1), "new")}
    leaving = moves(placed, joined, lambda task: True)
    left = {task: slot for task, slot in placed.items() if task not in leaving}
    now = place(tasks, left, joined)
    counts = [sum(joined[slot] == worker for slot in now.values()) for worker in {*joined.values()}]
    assert max(counts) - min(counts) <= 1
    assert len(leaving) < len(tasks) / WORKERS
