"""Keeps the task hosts of a worker, selects the host for a connector's next task, and starts hosts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.hosts.task_host import Host, HostListener
from connect.runtime.task.messages import Figures, WarmUp
from connect.runtime.task.task_id import TaskId

IDLE_S: Final = 60.0
"""A host without tasks is ended after this many seconds."""
SPARE_PAUSE_S: Final = 5.0
"""After a host without tasks has died, the next one is made ready this many seconds later."""

Launch = Callable[[str, HostListener], Host]
"""Starts a host by its name. It raises ConnectError where the machine refuses the host."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostLimits:
    """Says how many task hosts there may be, how much memory each may hold (0: any), and how long its figures count."""

    hosts: int
    memory_bytes: int = 0
    figures_kept_s: float = 1.0


@dataclass(slots=True)
class HostRuns:
    """Holds the runs of one host, and what the host said last."""

    isolated_for: str | None
    runs: dict[int, TaskId] = field(default_factory=dict)
    overdue_s: dict[int, float] = field(default_factory=dict)
    idle_since_s: float = 0.0
    sacrificed: bool = False
    spoke: bool = False
    """It is true when the host spoke since the last look."""
    silent_ticks: int = -1
    """This counts the looks since the host spoke last; -1: it has not spoken yet, and silence does not count so far."""
    figures: Figures = field(default_factory=Figures)

    def remove(self, run: int, now_s: float) -> None:
        """Forget a run that has ended."""
        self.runs.pop(run, None)
        self.overdue_s.pop(run, None)
        if not self.runs:
            self.idle_since_s = now_s


class HostPool:
    """Holds the task hosts. Owned by the herder's thread; other threads may read `hosts`."""

    def __init__(self, launch: Launch, most: int, listener: HostListener, clock_s: Callable[[], float]) -> None:
        """Take `most`, the number of shared hosts that there may be. Hosts of isolated connectors do not count."""
        self.hosts: dict[Host, HostRuns] = {}
        self._launch = launch
        self._most = most
        self._listener = listener
        self._clock_s = clock_s
        self._numbers = itertools.count(1)
        self._keeps_ready = False
        self._ready_again_s = 0.0

    def keep_ready(self, wanted: bool) -> None:
        """Set if a host is kept ready before a task needs it, as long as the pool has room for it."""
        self._keeps_ready = wanted
        self.make_ready()

    def make_ready(self) -> None:
        """Start the host to keep ready if one is wanted, there is none, and the pause after a death is over.

        A host that the machine refuses is tried again after the same pause.
        """
        wanted = self._keeps_ready and self._has_room() and self._idle(self._fitting(None)) is None
        if wanted and self._clock_s() >= self._ready_again_s:
            try:
                self._launched(None)
            except ConnectError as error:
                _logger.warning("task_host_not_started", extra={"error": str(error)})
                self.pause_making_ready()

    def pause_making_ready(self) -> None:
        """Wait `SPARE_PAUSE_S` before a host is made ready again, as one without tasks has died."""
        self._ready_again_s = self._clock_s() + SPARE_PAUSE_S

    def host_of(self, run: int) -> Host | None:
        """Return the host of a run; None once it has ended."""
        return next((host for host, tasks in self.hosts.items() if run in tasks.runs), None)

    def host_for(self, connector: str | None) -> Host:
        """Return the connector's own host, or for None a shared host: an idle or new one, or the least used.

        Raise ConnectError where the machine refuses a host that has to be started.
        """
        fitting = self._fitting(connector)
        idle = self._idle(fitting)
        if idle is not None:
            return idle
        if connector is None:
            return self._launched(None) if self._has_room() else min(fitting, key=lambda h: len(self.hosts[h].runs))
        if fitting:
            return min(fitting, key=lambda h: len(self.hosts[h].runs))
        spare = self._idle(self._fitting(None))
        if spare is None:
            return self._launched(connector)
        self.hosts[spare].isolated_for = connector
        return spare

    def is_unneeded(self, host: Host) -> bool:
        """Tell if a host without tasks may end: it has been idle for long enough and is not the one kept ready."""
        tasks = self.hosts[host]
        idle_s = 0.0 if tasks.isolated_for else IDLE_S
        return self._clock_s() - tasks.idle_since_s >= idle_s and not self._is_spare(host)

    def end(self, host: Host) -> None:
        """Forget a host that nobody needs, and ask it to end."""
        del self.hosts[host]
        host.close()

    def _fitting(self, connector: str | None) -> list[Host]:
        return [h for h, t in self.hosts.items() if t.isolated_for == connector and not t.sacrificed]

    def _idle(self, hosts: Sequence[Host]) -> Host | None:
        return next((host for host in hosts if not self.hosts[host].runs), None)

    def _has_room(self) -> bool:
        return len(self._fitting(None)) < self._most

    def _launched(self, connector: str | None) -> Host:
        host = self._launch(f"task-host-{next(self._numbers)}", self._listener)
        self.hosts[host] = HostRuns(connector, idle_since_s=self._clock_s())
        host.send(WarmUp())
        return host

    def _is_spare(self, host: Host) -> bool:
        return self._keeps_ready and self._idle(self._fitting(None)) is host
