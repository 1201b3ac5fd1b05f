"""Remembers on the leader whose tasks may still end on other workers, so that nobody changes their offsets meanwhile.

No worker tells when its tasks have ended, but each kills tasks that do not stop, after a known time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from connect.cluster.loop.membership import Membership
from connect.cluster.model.config_state import ConfigSnapshot
from connect.runtime.task.task_id import TaskId


class StoppingTasks:
    """Takes note of tasks that were told to end. Owned by the herder's thread, and asked from any."""

    def __init__(self, membership: Membership, stop_s: float) -> None:
        """Take the time in seconds after which no task runs any more that was told to end."""
        self._membership = membership
        self._stop_s = stop_s
        self._until_s: dict[str, float] = {}
        self._former_until_s: float | None = None

    def led(self) -> None:
        """Take note that this worker begins to lead. It does not know what the leader before it told to end."""
        self._former_until_s = time.monotonic() + self._stop_s

    def follows(self) -> None:
        """Take note that this worker does not lead."""
        self._former_until_s = None

    def elsewhere(self, snapshot: ConfigSnapshot, tasks: Iterable[TaskId]) -> bool:
        """Return True if one of the tasks has its place on another worker, or none yet."""
        view = self._membership.view
        return not all(view.owns(snapshot.placements.get(task)) for task in tasks)

    def note(self, name: str) -> None:
        """Take note that tasks of a connector were told to end that run on other workers."""
        now_s = time.monotonic()
        self._until_s = {known: until_s for known, until_s in self._until_s.items() if until_s > now_s}
        self._until_s[name] = now_s + self._stop_s

    def may_run(self, name: str) -> bool:
        """Return True if another worker may still run a task of this connector that should have ended."""
        now_s = time.monotonic()
        if now_s < self._until_s.get(name, 0.0):
            return True
        is_new = self._former_until_s is None or now_s < self._former_until_s
        return is_new and len(self._membership.view.urls) > 1
