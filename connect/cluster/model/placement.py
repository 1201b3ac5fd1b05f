"""Chooses the slot of each task: it prefers the least-loaded workers and moves few tasks. Pure, without randomness.

A slot is a partition of the slots topic; the worker that owns it runs its tasks. Tasks go along with their slot when
workers come and go, so they are moved only to balance the work.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from connect.runtime.task.task_id import TaskId

Placement = Mapping[TaskId, int]


def place(tasks: Collection[TaskId], placed: Placement, owners: Mapping[int, str]) -> dict[TaskId, int]:
    """Return a slot for every task: tasks in `placed` keep their slots, new ones go to the least-loaded worker.

    `owners` holds the worker of each slot that is owned. While no slot is owned, new tasks get none.
    """
    result = {task: placed[task] for task in tasks if task in placed}
    return result | place_new(set(tasks).difference(result), result, owners)


def place_new(new: Collection[TaskId], placed: Placement, owners: Mapping[int, str]) -> dict[TaskId, int]:
    """Return a slot for each new task beside those that are placed; without an owned slot they get none."""
    result: dict[TaskId, int] = {}
    load = _Load(placed, owners, {task.connector for task in new})
    for task in sorted(new):
        slot = load.take_best(task)
        if slot is None:
            break
        result[task] = slot
    return result


def moves(placed: Placement, owners: Mapping[int, str], is_movable: Callable[[TaskId], bool]) -> frozenset[TaskId]:
    """Return the fewest tasks that must leave their slots so that no worker runs two tasks more than another.

    Only movable tasks are returned. If they are too few, the workers stay less balanced.
    """
    by_worker: dict[str, list[TaskId]] = {worker: [] for worker in owners.values()}
    for task in sorted(placed):
        if placed[task] in owners:
            by_worker[owners[placed[task]]].append(task)
    leaving: set[TaskId] = set()
    counts = {worker: len(by_worker[worker]) for worker in sorted(by_worker)}
    spare: dict[str, Iterator[TaskId]] = {}
    while counts:
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        if counts[most] - counts[least] < 2:
            break
        if most not in spare:
            spare[most] = _spare(by_worker[most], is_movable)
        spared = next(spare[most], None)
        if spared is None:
            break
        leaving.add(spared)
        counts[most] -= 1
        counts[least] += 1
    return frozenset(leaving)


def _spare(tasks: Collection[TaskId], is_movable: Callable[[TaskId], bool]) -> Iterator[TaskId]:
    """Yield a worker's movable tasks in the order in which it can spare them.

    The next one is always of the connector that has the most tasks left on the worker.
    """
    left = Counter(task.connector for task in tasks)
    movable: dict[str, list[TaskId]] = defaultdict(list)
    for task in sorted(filter(is_movable, tasks)):
        movable[task.connector].append(task)
    # A connector that gave a task joins those that have one task less, so that each task is sorted once.
    by_left: dict[int, list[str]] = defaultdict(list)
    for connector in movable:
        by_left[left[connector]].append(connector)
    for number in range(max(by_left, default=0), 0, -1):
        for connector in sorted(by_left.pop(number, ()), key=lambda name: movable[name][-1], reverse=True):
            yield movable[connector].pop()
            if movable[connector]:
                by_left[number - 1].append(connector)


class _Load:
    """Keeps count of the tasks of each worker and slot. A worker's least loaded slot is the first of its heap."""

    def __init__(self, placed: Placement, owners: Mapping[int, str], connectors: Collection[str]) -> None:
        """Count the tasks of each worker, and apart from these those of the `connectors` that have new tasks."""
        self._owners = owners
        self._tasks: Counter[str] = Counter()
        self._connectors: Counter[tuple[str, str]] = Counter()
        in_slots = Counter(placed.values())
        for task, slot in placed.items() if connectors else ():
            if task.connector in connectors and slot in owners:
                self._connectors[owners[slot], task.connector] += 1
        self._slots: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for slot, worker in owners.items():
            self._tasks[worker] += in_slots[slot]
            self._slots[worker].append((in_slots[slot], slot))
        for slots in self._slots.values():
            heapq.heapify(slots)

    def take_best(self, task: TaskId) -> int | None:
        """Return the best slot for a task and count the task there; None if nobody owns a slot."""

        def cost(worker: str) -> tuple[int, int, tuple[int, int]]:
            return self._tasks[worker], self._connectors[worker, task.connector], self._slots[worker][0]

        worker = min(self._slots, key=cost, default=None)
        if worker is None:
            return None
        number, slot = self._slots[worker][0]
        heapq.heapreplace(self._slots[worker], (number + 1, slot))
        self._count(task, slot)
        return slot

    def _count(self, task: TaskId, slot: int) -> None:
        worker = self._owners.get(slot)
        if worker is not None:
            self._tasks[worker] += 1
            self._connectors[worker, task.connector] += 1
