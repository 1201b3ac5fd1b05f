"""Which task host runs which task; starts hosts when needed, ends those that hang, tells what became of the runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.suspects import Suspects, last_words
from connect.cluster.hosts.task_host import Host, HostListener
from connect.runtime.task.messages import (
    AsksToWrite,
    Figures,
    MayWrite,
    Message,
    SetPaused,
    StartTask,
    State,
    StopTask,
    TaskBuilt,
    TaskCondition,
    TaskId,
    TaskState,
    TopicsUsed,
    WarmUp,
)

KILL_GRACE_S: Final = 1.0
"""A host gets this much longer than the task before it is killed, to report a stop in the last moment."""
TICK_S: Final = 0.25
"""How often the herder calls `tick`."""
SILENT_TICKS: Final = 16
"""A host speaks every second; after so many looks without a word, something in it keeps all else from running.

That is 4 s: with the default session timeout the kernel ends such a host after 4.4 s at the least, as it does not look
at its lease either, and then nobody learns what its threads did.
"""
ABORT_TICKS: Final = 4
"""A host that is told to write its stacks and end gets this long."""
IDLE_S: Final = 60.0
"""A host without tasks is ended after this time."""
SPARE_PAUSE_S: Final = 5.0
"""After a host without tasks has died, the next one is not made ready before this."""

Launch = Callable[[str, HostListener], Host]
Post = Callable[[str, Callable[[], None]], None]
_logger = structlog.get_logger(__name__)


class RunListener(Protocol):
    """Hears what becomes of runs, on the herder's thread."""

    def run_changed(self, change: TaskState) -> None:
        """A run has another state; None: it ended as asked, with its worker's lease, or for another task's sake."""

    def run_built(self, built: TaskBuilt) -> None:
        """A run is built and begins."""

    def run_condition(self, change: TaskCondition) -> None:
        """A run is held up, or no more."""

    def topics_used(self, used: TopicsUsed) -> None:
        """A task used topics for the first time."""

    def asks_to_write(self, asking: AsksToWrite) -> None:
        """A run of an exactly-once source waits for `Supervisor.let_write`."""


@dataclass(frozen=True, slots=True)
class HostLimits:
    """How many task hosts there may be and how much memory each may hold (0: any)."""

    hosts: int
    memory_bytes: int = 0


@dataclass(slots=True)
class _Tasks:
    """The runs of one host."""

    isolated_for: str | None
    runs: dict[int, TaskId] = field(default_factory=dict)
    overdue_s: dict[int, float] = field(default_factory=dict)
    idle_since_s: float = 0.0
    sacrificed: bool = False
    spoke: bool = False
    """Since the last look."""
    silent_ticks: int = -1
    """Looks since it spoke; -1: it has yet to begin, and is given the time for that."""
    figures: Figures = field(default_factory=Figures)


class Supervisor:
    """Owned by the herder's thread, `figures` and `kill_all` excepted; hosts are heard through `post`."""

    def __init__(
        self,
        launch: Launch,
        limits: HostLimits,
        post: Post,
        listener: RunListener,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._launch = launch
        self._limits = limits
        self._post = post
        self._listener = listener
        self._clock_s = clock_s
        self._hosts: dict[Host, _Tasks] = {}
        self._suspects = Suspects(clock_s)
        self._numbers = itertools.count(1)
        self._keeps_ready = False
        self._ready_again_s = 0.0

    def keep_ready(self, wanted: bool) -> None:
        """Whether a host shall be there before a task needs it, as far as there may be one more."""
        self._keeps_ready = wanted
        self._make_ready()

    def start(self, message: StartTask, *, isolated: bool) -> None:
        """Run a task: in a host of its connector's own, or in the shared host with the fewest tasks.

        Connectors whose host died are kept apart for a while, so that the one that did it takes no other along again.
        """
        host = self._host_for(message.connector if isolated else self._suspects.group_of(message.connector))
        self._hosts[host].runs[message.run] = TaskId(message.connector, message.task)
        host.send(message)

    def stop(self, task: TaskId, run: int, timeout_s: float) -> None:
        """End a run; its host is killed when that takes longer than `timeout_s`."""
        host = self._host_of(run)
        if host is not None:
            self._hosts[host].overdue_s[run] = self._clock_s() + timeout_s + KILL_GRACE_S
            host.send(StopTask(task.connector, task.task, run, timeout_s))

    def set_paused(self, task: TaskId, run: int, paused: bool) -> None:
        """Pause or resume a run."""
        host = self._host_of(run)
        if host is not None:
            host.send(SetPaused(task.connector, task.task, run, paused))

    def let_write(self, asking: AsksToWrite, refusal: str | None) -> None:
        """Answer a run; `refusal` says why it may not write."""
        host = self._host_of(asking.run)
        if host is not None:
            host.send(MayWrite(asking.connector, asking.task, asking.run, refusal))

    def tick(self) -> None:
        """End hosts whose task does not stop, that say nothing, hold too much memory, or that nobody needs.

        Called every `TICK_S`. Silence is counted in calls, so that a machine without time for either costs no host.
        """
        now_s = self._clock_s()
        for host, tasks in tuple(self._hosts.items()):
            self._listen(host, tasks)
            late = [run for run, at_s in tasks.overdue_s.items() if at_s <= now_s]
            if late and not tasks.sacrificed:
                self._sacrifice(host, tasks, late)
            elif tasks.runs:
                self._check_memory(host)
            elif now_s - tasks.idle_since_s >= (0.0 if tasks.isolated_for else IDLE_S) and not self._is_spare(host):
                del self._hosts[host]
                host.close()
        self._make_ready()

    def _listen(self, host: Host, tasks: _Tasks) -> None:
        if tasks.spoke:
            tasks.spoke, tasks.silent_ticks = False, 0
        elif tasks.silent_ticks >= 0:
            tasks.silent_ticks += 1
        if tasks.silent_ticks == SILENT_TICKS:
            reason = f"was killed: it gave no sign of life for {SILENT_TICKS * TICK_S:g} s"
            _logger.warning("task_host_silent", host=host.name, pid=host.pid, reason=reason)
            host.abort(reason)
        elif tasks.silent_ticks == SILENT_TICKS + ABORT_TICKS:
            host.kill("was killed: it gave no sign of life")

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The last metrics of every task and of the host it is in, by `name-0`. From any thread."""
        return {
            name: {**figures, **tasks.figures.process, "host_memory_bytes": float(host.resident_bytes())}
            for host, tasks in tuple(self._hosts.items())
            for name, figures in tasks.figures.tasks.items()
        }

    def kill_all(self, reason: str) -> None:
        """End every host at once. From any thread."""
        for host, tasks in tuple(self._hosts.items()):
            tasks.sacrificed = True
            host.kill(reason)

    def close(self) -> None:
        """Ask every host to end; it is killed when it does not."""
        for host in tuple(self._hosts):
            host.close()

    def said(self, host: Host, message: Message) -> None:
        """A host spoke; on its reader thread."""
        tasks = self._hosts.get(host)
        if tasks is not None:
            tasks.spoke = True
        if isinstance(message, Figures):
            if tasks is not None:
                tasks.figures = message
            return
        self._post("taking in a task's state", lambda: self._take(host, message))

    def ended(self, host: Host, reason: str) -> None:
        """A host is gone; on its reader thread."""
        self._post("taking in the end of a task host", lambda: self._bury(host, reason))

    def _host_of(self, run: int) -> Host | None:
        return next((host for host, tasks in self._hosts.items() if run in tasks.runs), None)

    def _host_for(self, connector: str | None) -> Host:
        fitting = self._fitting(connector)
        idle = self._idle(fitting)
        if idle is not None:
            return idle
        if connector is None:
            return self._launched(None) if self._has_room() else min(fitting, key=lambda h: len(self._hosts[h].runs))
        if fitting:
            return min(fitting, key=lambda h: len(self._hosts[h].runs))
        spare = self._idle(self._fitting(None))
        if spare is None:
            return self._launched(connector)
        self._hosts[spare].isolated_for = connector
        return spare

    def _fitting(self, connector: str | None) -> list[Host]:
        return [h for h, t in self._hosts.items() if t.isolated_for == connector and not t.sacrificed]

    def _idle(self, hosts: Sequence[Host]) -> Host | None:
        return next((host for host in hosts if not self._hosts[host].runs), None)

    def _has_room(self) -> bool:
        return len(self._fitting(None)) < self._limits.hosts

    def _launched(self, connector: str | None) -> Host:
        host = self._launch(f"task-host-{next(self._numbers)}", self)
        self._hosts[host] = _Tasks(connector, idle_since_s=self._clock_s())
        host.send(WarmUp())
        return host

    def _make_ready(self) -> None:
        wanted = self._keeps_ready and self._has_room() and self._idle(self._fitting(None)) is None
        if wanted and self._clock_s() >= self._ready_again_s:
            self._launched(None)

    def _is_spare(self, host: Host) -> bool:
        return self._keeps_ready and self._idle(self._fitting(None)) is host

    def _take(self, host: Host, message: Message) -> None:
        tasks = self._hosts.get(host)
        if tasks is None:
            return
        match message:
            case TaskState():
                if message.run not in tasks.runs:
                    return
                if message.state in (None, State.FAILED):
                    self._remove(tasks, message.run)
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
                _logger.debug("task_host_said", host=host.name, message=type(message).__name__)

    def _remove(self, tasks: _Tasks, run: int) -> None:
        tasks.runs.pop(run, None)
        tasks.overdue_s.pop(run, None)
        if not tasks.runs:
            tasks.idle_since_s = self._clock_s()

    def _sacrifice(self, host: Host, tasks: _Tasks, late: list[int]) -> None:
        names = ", ".join(sorted(str(tasks.runs[run]) for run in late if run in tasks.runs))
        _logger.warning("task_host_killed", host=host.name, pid=host.pid, reason=f"{names} did not stop in time")
        tasks.sacrificed = True
        host.kill(f"was killed because {names} did not stop in time")

    def _check_memory(self, host: Host) -> None:
        limit = self._limits.memory_bytes
        used = host.resident_bytes() if limit else 0
        if used > limit:
            megabytes = 1024 * 1024
            host.kill(
                f"was killed: it held {used // megabytes} MiB of memory, more than task.host.memory.limit="
                f"{limit // megabytes} allows"
            )

    def _bury(self, host: Host, reason: str) -> None:
        tasks = self._hosts.pop(host, None)
        if tasks is None:
            return
        if not tasks.runs:
            self._ready_again_s = self._clock_s() + SPARE_PAUSE_S
        if reason == LEASE_OVER:
            tasks.sacrificed = True
            _logger.warning("task_host_lease_over", host=host.name, pid=host.pid, tasks=len(tasks.runs))
        if tasks.runs and not tasks.sacrificed:
            _logger.error("task_host_died", host=host.name, pid=host.pid, reason=reason, tasks=len(tasks.runs))
            self._suspects.add({task.connector for task in tasks.runs.values()})
        for run, task in tuple(tasks.runs.items()):
            asked = tasks.sacrificed or run in tasks.overdue_s
            trace = None if asked else last_words(host.pid, reason, host.crash_report, run)
            state = None if asked else State.FAILED
            self._listener.run_changed(TaskState(task.connector, task.task, run, state, trace, retriable=not asked))
