"""Asks the task hosts for the figures of their tasks when somebody wants to know them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from connect.cluster.hosts.host_pool import HostRuns
from connect.cluster.hosts.task_host import Host
from connect.runtime.task.messages import Figures, TellFigures

WAIT_S: Final = 0.5
"""If a host does not answer within this many seconds, its last answer is used."""


class AskedFigures:
    """Asks the hosts for figures and keeps the answers for a while, for all callers. Any thread may call it."""

    def __init__(
        self, hosts: Mapping[Host, HostRuns], kept_s: float, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the hosts, a mapping that changes as they come and go. Answers are used again for `kept_s` seconds."""
        self._hosts = hosts
        self._kept_s = kept_s
        self._clock_s = clock_s
        self._changed = threading.Condition()
        self._awaited: set[Host] = set()
        self._asked_s = -math.inf
        self._number = 0

    def now(self) -> Mapping[str, Mapping[str, float]]:
        """Return the figures of each task and of its host, by the task as `name-0`. Waits up to `WAIT_S` for hosts."""
        with self._changed:
            if self._clock_s() - self._asked_s >= self._kept_s:
                self._ask()
            self._changed.wait_for(lambda: not self._awaited, WAIT_S)
        found: dict[str, Mapping[str, float]] = {}
        for host, runs in tuple(self._hosts.items()):
            if runs.runs:
                process = {**runs.figures.process, "host_memory_bytes": float(host.resident_bytes())}
                found |= {name: {**figures, **process} for name, figures in runs.figures.tasks.items()}
        return found

    def told(self, host: Host, figures: Figures) -> None:
        """Keep the figures that a host sent."""
        with self._changed:
            runs = self._hosts.get(host)
            if runs is not None:
                runs.figures = figures
            if figures.number == self._number:
                self._heard_all_of(host)

    def ended(self, host: Host) -> None:
        """Stop waiting for a host that is gone."""
        with self._changed:
            self._heard_all_of(host)

    def _ask(self) -> None:
        self._number += 1
        self._asked_s = self._clock_s()
        self._awaited = {host for host, runs in tuple(self._hosts.items()) if runs.runs}
        for host in tuple(self._awaited):
            host.send(TellFigures(self._number))

    def _heard_all_of(self, host: Host) -> None:
        self._awaited.discard(host)
        if not self._awaited:
            self._changed.notify_all()
