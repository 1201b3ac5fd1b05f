"""Gives every task a slot, and moves tasks so that all workers have about the same number. Only the leader does this.

The functions of `placement` choose the slots. A task moves in two steps: it leaves its old slot first, and gets the new
one when its status says that it has stopped, or when its old worker is gone. If a slot goes to another worker, its
tasks go along without these steps.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from connect.cluster.loop.membership import View
from connect.cluster.model.config_records import PlacementRecord
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.placement import moves, place, place_new
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.status_store import StatusStore
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

SETTLED_S: Final = 3.0
"""The group must not have changed for this many seconds before tasks are moved, as it changes in several steps."""

_logger = logging.getLogger(__name__)


class TaskPlacer:
    """Gives tasks their slots. Owned by the herder's thread; used on the leader only."""

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._configs = configs
        self._statuses = statuses
        self._clock_s = clock_s
        self._owners: Mapping[int, str] = {}
        self._same_since_s = 0.0
        self._told_again: frozenset[TaskId] = frozenset()

    def reconcile(
        self,
        snapshot: ConfigSnapshot,
        view: View,
        overdue: Collection[TaskId] = (),
        only: Collection[str] | None = None,
    ) -> None:
        """Place the tasks that have no slot, and take the tasks that should move from their slots.

        If a task is `overdue` because its last worker has not reported its stop, the task goes back to that worker:
        it is not safe to start it on another one. With `only`, new tasks of these connectors are placed, and no task
        moves.
        """
        if view.slots is None:
            return
        if view.owners != self._owners:
            self._owners, self._same_since_s = view.owners, self._clock_s()
        if only is not None:
            self._place_new(snapshot, view, only)
            return
        tasks = [TaskId(name, number) for name, configs in snapshot.tasks.items() for number in configs]
        placed = {task: snapshot.placements[task] for task in tasks if task in snapshot.placements}
        unplaced = [task for task in tasks if task not in placed]
        released = [task for task in unplaced if self._is_released(task, view)]
        wanted = place([*placed, *released], placed, view.owners)
        for task in [task for task in unplaced if task in overdue and task not in released]:
            wanted |= place([task], {}, self._slots_of_last_worker(task, view))
        if not unplaced and self._clock_s() - self._same_since_s >= SETTLED_S:
            leaving = moves(placed, view.owners, lambda task: self._is_held(task, placed, view))
            wanted = {task: slot for task, slot in placed.items() if task not in leaving}
            if leaving:
                _logger.info("tasks_moving", extra={"tasks": sorted(map(str, leaving))})
        changed = [task for task in placed.keys() | wanted.keys() if wanted.get(task) != placed.get(task)]
        if changed:
            self._write(snapshot, changed, wanted)
        else:
            self._tell_again(snapshot, frozenset(task for task in overdue if task in placed))

    def _tell_again(self, snapshot: ConfigSnapshot, overdue: frozenset[TaskId]) -> None:
        """Write the slots of tasks once more that became overdue in them.

        A reader of a compacted topic may lack the record by which a task left another slot. It gives that task none.
        """
        new, self._told_again = overdue - self._told_again, overdue
        slots: dict[str, dict[int, int]] = {task.connector: {} for task in new}
        for task, slot in snapshot.placements.items():
            if task.connector in slots:
                slots[task.connector][task.task] = slot
        records = [
            PlacementRecord(name, [known.get(n) for n in range(max(known) + 1)]) for name, known in slots.items()
        ]
        if records:
            self._configs.put(*records)

    def _place_new(self, snapshot: ConfigSnapshot, view: View, only: Collection[str]) -> None:
        tasks = [TaskId(name, number) for name in only for number in snapshot.tasks.get(name, ())]
        new = [task for task in tasks if task not in snapshot.placements and self._is_released(task, view)]
        if new:
            known = snapshot.tasks  # as has_task, without a call for each task of the cluster
            placed = {
                t: s for t, s in snapshot.placements.items() if t.connector in known and t.task in known[t.connector]
            }
            kept = {task: placed[task] for task in tasks if task in placed}
            self._write(snapshot, new, kept | place_new(new, placed, view.owners))

    def forget(self, snapshot: ConfigSnapshot) -> None:
        """Remove the placements of connectors that do not exist any more; called when this worker begins to lead.

        This is not done when a connector is deleted. If it is created again at once, its tasks go to the same workers,
        which know the old runs that may still be stopping.
        """
        gone = {task.connector for task in snapshot.placements} - snapshot.connectors.keys()
        if gone:
            self._configs.put(*(PlacementRecord(name, None) for name in sorted(gone)))

    def _slots_of_last_worker(self, task: TaskId, view: View) -> Mapping[int, str]:
        worker_id = self._statuses.tasks(task.connector)[task.task].worker_id
        return {slot: owner for slot, owner in view.owners.items() if owner == worker_id}

    def _is_held(self, task: TaskId, placed: Mapping[TaskId, int], view: View) -> bool:
        """Return True if the task's worker has reported the task, so that it will also report the task's end."""
        status = self._statuses.tasks(task.connector).get(task.task)
        if status is None or status.state is State.UNASSIGNED:
            return False
        return status.worker_id == view.owners.get(placed[task])

    def _is_released(self, task: TaskId, view: View) -> bool:
        status = self._statuses.tasks(task.connector).get(task.task)
        return status is None or status.state is State.UNASSIGNED or status.worker_id not in view.urls

    def _write(self, snapshot: ConfigSnapshot, tasks: Collection[TaskId], wanted: Mapping[TaskId, int]) -> None:
        records = []
        changed: dict[str, dict[int, int]] = {task.connector: {} for task in tasks}
        for task, slot in snapshot.placements.items():
            if task.connector in changed:
                changed[task.connector][task.task] = slot
        for name, known in sorted(changed.items()):
            numbers = snapshot.tasks.get(name, {})
            now = {n: wanted.get(TaskId(name, n)) if n in numbers else known.get(n) for n in {*numbers, *known}}
            if {n: slot for n, slot in now.items() if slot is not None} != known:
                records.append(PlacementRecord(name, [now.get(n) for n in range(max(now, default=-1) + 1)]))
        if records:
            self._configs.put(*records)
