"""Chooses the slot that each task goes to: least-loaded workers, few moves. Pure: no I/O, no clock, no randomness.

A slot is a partition of the slots topic; whoever owns it runs its tasks. Tasks follow their slot when members come and
go, so only the balance needs moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from connect.runtime.task.task_id import TaskId

Placement = Mapping[TaskId, int]


def place(tasks: Collection[TaskId], placed: Placement, owners: Mapping[int, str]) -> dict[TaskId, int]:
    """Return a slot for every task: `placed` ones stay where they are, new ones go to the least-loaded worker.

    `owners`: the worker of each slot that somebody owns. Tasks stay unplaced while nobody owns any.
    """
    result = {task: placed[task] for task in tasks if task in placed}
    load = _Load(result, owners)
    for task in sorted(set(tasks) - set(result)):
        slot = load.best_slot(task)
        if slot is None:
            break
        result[task] = slot
        load.add(task, slot)
    return result


def moves(placed: Placement, owners: Mapping[int, str], is_movable: Callable[[TaskId], bool]) -> frozenset[TaskId]:
    """Return the fewest of the movable tasks that must leave their slot so that no worker runs two more than another.

    Fewer when those that may not be moved are too many.
    """
    by_worker: dict[str, list[TaskId]] = {worker: [] for worker in owners.values()}
    for task in sorted(placed):
        if placed[task] in owners:
            by_worker[owners[placed[task]]].append(task)
    leaving: set[TaskId] = set()
    counts = {worker: len(tasks) for worker, tasks in by_worker.items()}
    while counts:
        most = max(sorted(counts), key=lambda worker: counts[worker])
        least = min(sorted(counts), key=lambda worker: counts[worker])
        if counts[most] - counts[least] < 2:
            break
        # The connector with most tasks there can best spare one.
        crowd = Counter(task.connector for task in by_worker[most])
        candidates = [task for task in by_worker[most] if is_movable(task)]
        if not candidates:
            break
        task = max(candidates, key=lambda t: (crowd[t.connector], t))
        by_worker[most].remove(task)
        leaving.add(task)
        counts[most] -= 1
        counts[least] += 1
    return frozenset(leaving)


class _Load:
    """How much each worker and slot has to do."""

    def __init__(self, placed: Placement, owners: Mapping[int, str]) -> None:
        self._owners = owners
        self._tasks: Counter[str] = Counter()
        self._connectors: Counter[tuple[str, str]] = Counter()
        self._slots: Counter[int] = Counter()
        for task, slot in placed.items():
            self.add(task, slot)

    def add(self, task: TaskId, slot: int) -> None:
        self._slots[slot] += 1
        worker = self._owners.get(slot)
        if worker is not None:
            self._tasks[worker] += 1
            self._connectors[worker, task.connector] += 1

    def best_slot(self, task: TaskId) -> int | None:
        def cost(slot: int) -> tuple[int, int, int, int]:
            worker = self._owners[slot]
            return self._tasks[worker], self._connectors[worker, task.connector], self._slots[slot], slot

        return min(self._owners, key=cost, default=None)
