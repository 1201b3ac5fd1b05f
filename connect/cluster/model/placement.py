"""Chooses the slot that each task goes to: least-loaded workers, few moves. Pure: no I/O, no clock, no randomness.

A slot is a partition of the slots topic; whoever owns it runs its tasks. Tasks follow their slot when members come and
go, so only the balance needs moves.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from connect.runtime.task.task_id import TaskId

Placement = Mapping[TaskId, int]


def place(tasks: Collection[TaskId], placed: Placement, owners: Mapping[int, str]) -> dict[TaskId, int]:
    """Return a slot for every task: `placed` ones stay where they are, new ones go to the least-loaded worker.

    `owners`: the worker of each slot that somebody owns. Tasks stay unplaced while nobody owns any.
    """
    result = {task: placed[task] for task in tasks if task in placed}
    load = _Load(result, owners)
    for task in sorted(set(tasks) - set(result)):
        slot = load.take_best(task)
        if slot is None:
            break
        result[task] = slot
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
    """Yield a worker's movable tasks in the order in which it can spare them: always one of the connector that has most
    left there.
    """
    left = Counter(task.connector for task in tasks)
    movable: dict[str, list[TaskId]] = defaultdict(list)
    for task in sorted(filter(is_movable, tasks)):
        movable[task.connector].append(task)
    # A connector that gave a task is looked at again among those that have one less, so each task is sorted once.
    by_left: dict[int, list[str]] = defaultdict(list)
    for connector in movable:
        by_left[left[connector]].append(connector)
    for number in range(max(by_left, default=0), 0, -1):
        for connector in sorted(by_left.pop(number, ()), key=lambda name: movable[name][-1], reverse=True):
            yield movable[connector].pop()
            if movable[connector]:
                by_left[number - 1].append(connector)


class _Load:
    """How much each worker and slot has to do. A worker's least loaded slot is the first of its heap."""

    def __init__(self, placed: Placement, owners: Mapping[int, str]) -> None:
        self._owners = owners
        self._tasks: Counter[str] = Counter()
        self._connectors: Counter[tuple[str, str]] = Counter()
        for task, slot in placed.items():
            self._count(task, slot)
        in_slots = Counter(placed.values())
        self._slots: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for slot, worker in owners.items():
            self._slots[worker].append((in_slots[slot], slot))
        for slots in self._slots.values():
            heapq.heapify(slots)

    def take_best(self, task: TaskId) -> int | None:
        """Return the slot for a task, which counts there from now on; None: nobody owns a slot."""

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
