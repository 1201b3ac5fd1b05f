"""Tells in the leader's log which workers come and go, and when the tasks of a lost worker run on other workers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.store.status_store import StatusStore
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

_AT_WORK: Final = (State.RUNNING, State.PAUSED)
_logger = logging.getLogger(__name__)


class PresentWorkers:
    """Remembers which workers were present last. Owned by the herder's thread; used on the leader only."""

    def __init__(self, statuses: StatusStore, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._statuses = statuses
        self._clock_s = clock_s
        self._present: frozenset[str] = frozenset()
        self._orphans: dict[str, tuple[float, list[TaskId]]] = {}

    def reconcile(self, snapshot: ConfigSnapshot, present: frozenset[str]) -> None:
        """Log which workers have come and gone since the last call, and whose tasks run again."""
        for worker in sorted(self._present - present):
            tasks = [task for task in _tasks(snapshot) if self._is_at(task, worker)]
            _logger.info("worker_lost", extra={"worker": worker, "left": len(present), "tasks": len(tasks)})
            self._orphans[worker] = self._clock_s(), tasks
        if self._present:
            for worker in sorted(present - self._present):
                _logger.info("worker_joined", extra={"worker": worker, "present": len(present)})
                self._orphans.pop(worker, None)  # the worker is back, and may get the same tasks again
        self._present = present
        self._tell_of_orphans(snapshot)

    def forget(self) -> None:
        """Forget all workers, as another one leads."""
        self._present = frozenset()
        self._orphans.clear()

    def _tell_of_orphans(self, snapshot: ConfigSnapshot) -> None:
        if not self._orphans:
            return
        existing = set(_tasks(snapshot))
        for worker, (since_s, tasks) in tuple(self._orphans.items()):
            if not any(task in existing and not self._is_elsewhere(task, worker) for task in tasks):
                del self._orphans[worker]
                if tasks:
                    took_s = round(self._clock_s() - since_s, 3)
                    _logger.info("tasks_taken_over", extra={"worker": worker, "tasks": len(tasks), "took_s": took_s})

    def _is_at(self, task: TaskId, worker: str) -> bool:
        status = self._statuses.tasks(task.connector).get(task.task)
        return status is not None and status.worker_id == worker and status.state in _AT_WORK

    def _is_elsewhere(self, task: TaskId, worker: str) -> bool:
        status = self._statuses.tasks(task.connector).get(task.task)
        return status is not None and status.worker_id != worker and status.state in (*_AT_WORK, State.FAILED)


def _tasks(snapshot: ConfigSnapshot) -> list[TaskId]:
    return [TaskId(name, number) for name, numbers in snapshot.tasks.items() for number in numbers]
