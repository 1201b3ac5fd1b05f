"""Deleting a connector together with its offsets: it is stopped, its tasks end, its offsets go, then it goes itself.

Never deletes a connector whose offsets could not be forgotten: that can be asked for again, the other order could not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.cluster.cluster_parts import Parts, connector_config
from connect.cluster.connector_offsets import ConnectorOffsets
from connect.cluster.operations import NotLeaderError, RequestError, TargetState
from connect.cluster.requests import Requests
from connect.cluster.supervisor import KILL_GRACE_S
from connect.runtime.messages import TaskId

TIMEOUT_S: Final = 60.0
"""Time for the whole, beyond what tasks may take to stop; a killed sink stays in its group for up to 45 s."""
LOOK_S: Final = 0.1


class Removal:
    """Any thread may ask. Works on a thread of its own, as tasks take their time to stop."""

    def __init__(
        self, parts: Parts, requests: Requests, offsets: ConnectorOffsets, has_runs: Callable[[str], bool]
    ) -> None:
        self._parts = parts
        self._requests = requests
        self._offsets = offsets
        self._has_runs = has_runs
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="removal")

    def remove(self, name: str) -> Future[None]:
        """NotFoundError, NotLeaderError; RequestError when the offsets stay, and with them the stopped connector."""
        return self._threads.submit(self._remove, name)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing more."""
        self._closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _remove(self, name: str) -> None:
        loop, stop_s = self._parts.loop, self._parts.limits.stop_s + 2 * KILL_GRACE_S
        deadline = Deadline.after(TIMEOUT_S + stop_s, self._closing)
        stopping = loop.submit(f"stopping connector {name} to delete it", partial(self._stop, name))
        runs_elsewhere = stopping.result(deadline.remaining_s)
        self._await_stopped(name, deadline.sooner(stop_s), runs_elsewhere=runs_elsewhere)
        try:
            self._reset(name, deadline)
        except NotLeaderError:
            raise
        except RequestError as error:
            text = f"Connector {name} was stopped but not deleted, as its offsets could not be reset: {error.message}"
            raise RequestError(error.status, text) from error
        deleting = loop.submit(f"deleting connector {name}", partial(self._requests.delete, name))
        deleting.result(deadline.remaining_s)

    def _stop(self, name: str) -> bool:
        """Whether other workers may run tasks of it."""
        self._requests.require_leader()
        snapshot, view = self._parts.configs.snapshot, self._parts.membership.view
        connector_config(snapshot, name)
        tasks = [TaskId(name, number) for number in snapshot.tasks.get(name, {})]
        if snapshot.target(name) is not TargetState.STOPPED or tasks:
            self._requests.set_target(name, TargetState.STOPPED)
        return not all(view.owns(snapshot.placements.get(task)) for task in tasks)

    def _await_stopped(self, name: str, stopped_by: Deadline, *, runs_elsewhere: bool) -> None:
        # Nobody tells when another worker's tasks have ended, but by then it has killed those that did not stop.
        while (runs_elsewhere or self._has_runs(name)) and stopped_by.wait(LOOK_S):
            pass

    def _reset(self, name: str, deadline: Deadline) -> None:
        while True:
            try:
                self._offsets.reset(name).result(deadline.remaining_s)
            except RequestError as error:
                has_members = isinstance(error.__cause__, RetriableError)
                if not has_members or not deadline.wait(LOOK_S):
                    raise
            else:
                return
