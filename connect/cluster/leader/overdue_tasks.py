"""Tasks that should run and do not, for longer than anything takes that a cluster does: named, and placed again.

Every worker looks for itself at what all of them say, so that each can name the tasks; the leader's `TaskPlacer` acts.
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
"""All tasks are looked at no more often than this, which each look of a second reaches."""
_AT_WORK: Final = (State.RUNNING, State.PAUSED)
_logger = logging.getLogger(__name__)


class OverdueTasks:
    """Finds overdue tasks. Owned by the herder's thread; `found` may be read by any."""

    def __init__(self, parts: HerderParts, after_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`after_s`: how long a task may be without a run before it is overdue."""
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
