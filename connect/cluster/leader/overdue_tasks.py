"""Finds tasks that should run and have not for longer than any step of the cluster takes.

Every worker looks for them in the statuses of all workers, so that each can name them; the leader's `TaskPlacer` places
them again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from connect.cluster.loop.herder_parts import HerderParts
from connect.cluster.loop.membership import View
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.statuses import OverdueTask, Status
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

LOOK_S: Final = 0.9
"""The tasks are looked at once in this many seconds at most, which is less than the herder's interval of a second."""
_AT_WORK: Final = (State.RUNNING, State.PAUSED)
_logger = logging.getLogger(__name__)


class OverdueTasks:
    """Finds overdue tasks. Owned by the herder's thread; any thread may read `found`."""

    def __init__(self, parts: HerderParts, after_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        """A task is overdue after it was without a run for `after_s` seconds."""
        self._parts = parts
        self._after_s = after_s
        self._clock_s = clock_s
        self._since: dict[TaskId, tuple[float, int]] = {}
        self._looked_s = float("-inf")
        self.found: tuple[OverdueTask, ...] = ()

    def reconcile(self, snapshot: ConfigSnapshot, view: View) -> None:
        """Look at all tasks that should run now. A task that failed is not overdue: its status says what follows."""
        now = self._clock_s(), time.time_ns() // 1_000_000
        if now[0] - self._looked_s < LOOK_S:
            return
        self._looked_s = now[0]
        reasons = self._idle(snapshot, view) if view.urls else {}
        self._since = {task: self._since.get(task, now) for task in reasons}
        found = tuple(
            OverdueTask(task, reasons[task], since_ms)
            for task, (since_s, since_ms) in sorted(self._since.items())
            if now[0] - since_s >= self._after_s
        )
        known = {overdue.task for overdue in self.found}
        for overdue in found:
            if overdue.task not in known:
                _logger.warning("task_overdue", extra={"task": str(overdue.task), "reason": overdue.reason})
        self.found = found

    def _idle(self, snapshot: ConfigSnapshot, view: View) -> Mapping[TaskId, str]:
        reasons = {}
        for name, tasks in snapshot.tasks.items():
            kind = self._parts.catalog.kind(snapshot.applied[name])
            if snapshot.target(name) is TargetState.STOPPED or kind == "unknown":
                continue
            statuses = self._parts.statuses.tasks(name)
            for number in tasks:
                task = TaskId(name, number)
                reason = _why_idle(snapshot.placements.get(task), statuses.get(number), view)
                if reason is not None and self._parts.awaits_fencing(snapshot, name):
                    reason = "The producers of its former tasks are not fenced yet."
                if reason is not None:
                    reasons[task] = reason
        return reasons


def _why_idle(slot: int | None, status: Status | None, view: View) -> str | None:
    said = f"status {status.state} of worker {status.worker_id}" if status is not None else "no status"
    if status is not None and status.condition is not None:
        said = f"{said}: {status.condition.reason}"  # such as whom its open asks
    if view.slots is None:
        owner = next(iter(view.urls))
    elif slot is None:
        return f"It has no slot: the leader waits until its last worker has let go of it ({said})."
    elif slot not in view.owners:
        return f"No worker owns its slot {slot} ({said})."
    else:
        owner = view.owners[slot]
    runs = status is not None and status.worker_id == owner and status.state in (*_AT_WORK, State.FAILED)
    return None if runs else f"Worker {owner} has not reported that it runs ({said})."
