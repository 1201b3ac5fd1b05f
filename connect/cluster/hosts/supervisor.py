"""Starts runs of tasks in task hosts, exchanges messages with the hosts, and reports what becomes of the runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from connect.api.errors import ConnectError
from connect.cluster.hosts.asked_figures import AskedFigures
from connect.cluster.hosts.forked_host import NOT_MADE
from connect.cluster.hosts.host_pool import HostLimits, HostPool, Launch
from connect.cluster.hosts.host_watch import HostWatch
from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.suspects import Suspects, last_words
from connect.cluster.hosts.task_host import Host
from connect.runtime.task.messages import (
    AsksToWrite,
    Figures,
    Heartbeat,
    MayWrite,
    Message,
    SetPaused,
    StartTask,
    StopTask,
    TaskBuilt,
    TaskCondition,
    TaskState,
    TopicsUsed,
)
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

KILL_GRACE_S: Final = 1.0
"""A host has this many seconds more than its task to report a stop before it is killed."""
Post = Callable[[str, Callable[[], None]], None]
_logger = logging.getLogger(__name__)


class RunListener(Protocol):
    """Hears what becomes of runs, on the herder's thread."""

    def run_changed(self, change: TaskState) -> None:
        """Take note that a run has another state.

        The state is None if the run ended as asked, with its worker's lease, or because of another task.
        """

    def run_built(self, built: TaskBuilt) -> None:
        """Take note that a run is built and begins."""

    def run_condition(self, change: TaskCondition) -> None:
        """Take note that something holds a run up, or that nothing does any more."""

    def topics_used(self, used: TopicsUsed) -> None:
        """Take note that a task used topics for the first time."""

    def asks_to_write(self, asking: AsksToWrite) -> None:
        """Take note that a run of an exactly-once source waits for `Supervisor.let_write`."""


class Supervisor:
    """Brings tasks into hosts, heard through `post`. Owned by the herder's thread but for `figures` and `kill_all`."""

    def __init__(
        self,
        launch: Launch,
        limits: HostLimits,
        post: Post,
        listener: RunListener,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._post = post
        self._listener = listener
        self._clock_s = clock_s
        self.pool = HostPool(launch, limits.hosts, self, clock_s)
        self.watch = HostWatch(self.pool, limits.memory_bytes, clock_s)
        self._suspects = Suspects(clock_s)
        self._figures = AskedFigures(self.pool.hosts, limits.figures_kept_s, clock_s)

    def start(self, message: StartTask, *, isolated: bool) -> None:
        """Run a task in a host of its connector's own if `isolated`, else in the shared host with the fewest tasks.

        Connectors whose host died get hosts apart from others for a while. So the one that ended the host does not
        end the tasks of the others again. A run whose host the machine refuses fails, and may be started again.
        """
        try:
            host = self.pool.host_for(message.connector if isolated else self._suspects.group_of(message.connector))
        except ConnectError as error:
            refused = TaskState(message.connector, message.task, message.run, State.FAILED, str(error), retriable=True)
            self._post("taking in a task host that was refused", lambda: self._listener.run_changed(refused))
            return
        self.pool.hosts[host].runs[message.run] = TaskId(message.connector, message.task)
        host.send(message)

    def stop(self, task: TaskId, run: int, timeout_s: float) -> None:
        """End a run; its host is killed if that takes longer than `timeout_s`."""
        host = self.pool.host_of(run)
        if host is not None:
            self.pool.hosts[host].overdue_s[run] = self._clock_s() + timeout_s + KILL_GRACE_S
            host.send(StopTask(task.connector, task.task, run, timeout_s))

    def set_paused(self, task: TaskId, run: int, paused: bool) -> None:
        """Pause or resume a run."""
        host = self.pool.host_of(run)
        if host is not None:
            host.send(SetPaused(task.connector, task.task, run, paused))

    def let_write(self, asking: AsksToWrite, refusal: str | None) -> None:
        """Answer a run that asks to write; `refusal` says why it may not, and is None if it may."""
        host = self.pool.host_of(asking.run)
        if host is not None:
            host.send(MayWrite(asking.connector, asking.task, asking.run, refusal))

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return the figures of each task and of its host, by the task as `name-0`.

        It asks the hosts and waits a moment for them; so any thread may call it but that of an event loop.
        """
        return self._figures.now()

    def kill_all(self, reason: str) -> None:
        """End every host at once. From any thread."""
        for host, tasks in tuple(self.pool.hosts.items()):
            tasks.sacrificed = True
            host.kill(reason)

    def close(self) -> None:
        """Ask every host to end; a host that does not is killed."""
        for host in tuple(self.pool.hosts):
            host.close()

    def said(self, host: Host, message: Message) -> None:
        """Take a message of a host; called on the host's reader thread."""
        tasks = self.pool.hosts.get(host)
        if tasks is not None:
            tasks.spoke = True
        if isinstance(message, Figures):
            self._figures.told(host, message)
        elif not isinstance(message, Heartbeat):
            self._post("taking in a task's state", lambda: self._take(host, message))

    def ended(self, host: Host, reason: str) -> None:
        """Take note that a host is gone; called on the host's reader thread."""
        self._figures.ended(host)
        self._post("taking in the end of a task host", lambda: self._bury(host, reason))

    def _take(self, host: Host, message: Message) -> None:
        tasks = self.pool.hosts.get(host)
        if tasks is None:
            return
        match message:
            case TaskState():
                if message.run not in tasks.runs:
                    return
                if message.state in (None, State.FAILED):
                    tasks.remove(message.run, self._clock_s())
                self._listener.run_changed(message)
            case TaskBuilt():
                self._listener.run_built(message)
            case TaskCondition():
                self._listener.run_condition(message)
            case TopicsUsed():
                self._listener.topics_used(message)
            case AsksToWrite():
                self._listener.asks_to_write(message)
            case _:
                _logger.debug("task_host_said", extra={"host": host.name, "said": type(message).__name__})

    def _bury(self, host: Host, reason: str) -> None:
        tasks = self.pool.hosts.pop(host, None)
        if tasks is None:
            return
        if not tasks.runs:
            self.pool.pause_making_ready()
        if reason == LEASE_OVER:
            tasks.sacrificed = True
            _logger.warning(
                "task_host_lease_over", extra={"host": host.name, "pid": host.pid, "tasks": len(tasks.runs)}
            )
        if tasks.runs and not tasks.sacrificed:
            _logger.error(
                "task_host_died", extra={"host": host.name, "pid": host.pid, "reason": reason, "tasks": len(tasks.runs)}
            )
            if not reason.startswith(NOT_MADE):
                self._suspects.add({task.connector for task in tasks.runs.values()})
        for run, task in tuple(tasks.runs.items()):
            asked = tasks.sacrificed or run in tasks.overdue_s
            trace = None if asked else last_words(host.pid, reason, host.crash_report, run)
            state = None if asked else State.FAILED
            self._listener.run_changed(TaskState(task.connector, task.task, run, state, trace, retriable=not asked))
