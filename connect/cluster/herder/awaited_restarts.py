"""Lets requests for the restart of a task wait until the task is built, not until it runs, as in Kafka Connect."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future

from connect.cluster.model.request_errors import ConflictError, FailedRequestError
from connect.runtime.task.task_id import TaskId


class AwaitedRestarts:
    """Keeps requests that wait for a restart. Owned by the herder's thread; its futures are completed there."""

    def __init__(self) -> None:
        self._waiting: dict[TaskId, list[tuple[int, Future[None]]]] = {}

    def wait(self, task: TaskId, attempt: int) -> Future[None]:
        """Return a future that is done when a run of this attempt, or of a later one, is built.

        RequestError: it could not be built.
        """
        done: Future[None] = Future()
        self._waiting.setdefault(task, []).append((attempt, done))
        return done

    def built(self, task: TaskId, attempt: int) -> None:
        """Take note that a run is built, and complete the requests that wait for it."""
        for done in self._take(task, attempt):
            done.set_result(None)

    def failed(self, task: TaskId, attempt: int) -> None:
        """Take note that a run ended; requests that still wait for it to be built fail."""
        for done in self._take(task, attempt):
            done.set_exception(FailedRequestError(f"Failed to start task: {task}"))

    def keep(self, assigned: Collection[TaskId]) -> None:
        """Refuse the requests for all other tasks, as this worker may start only those that are assigned to it."""
        for task in [task for task in self._waiting if task not in assigned]:
            for _, done in self._waiting.pop(task):
                text = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
                done.set_exception(ConflictError(text))

    def _take(self, task: TaskId, attempt: int) -> list[Future[None]]:
        waiting = self._waiting.pop(task, [])
        later = [(wanted, done) for wanted, done in waiting if wanted > attempt]
        if later:
            self._waiting[task] = later
        return [done for wanted, done in waiting if wanted <= attempt]
