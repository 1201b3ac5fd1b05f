"""After a task host died: who may have done it, and what is told about it. Pure: the caller brings the clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Final

from connect.cluster.hosts.task_host import CrashReport

PROBATION_S: Final = 600.0
"""A connector whose host died is kept apart for so long."""
FEW: Final = 8
"""So many suspects get a host each; more share so many hosts, and those of the next host to die are split again."""


class Suspects:
    """Connectors that were in a host when it died."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._groups: dict[str, tuple[str, float]] = {}

    def add(self, connectors: Collection[str]) -> None:
        """Add these connectors to the suspects, as a host with them died."""
        until_s = self._clock_s() + PROBATION_S
        for name in connectors:
            group = name if len(connectors) <= FEW else f"{len(connectors)} suspects, part {_part(name)}"
            self._groups[name] = (group, until_s)

    def group_of(self, connector: str) -> str | None:
        """Return the name of those it may share a host with; None: everybody."""
        group, until_s = self._groups.get(connector, (None, 0.0))
        if group is not None and self._clock_s() >= until_s:
            del self._groups[connector]
            return None
        return group


def last_words(pid: int, reason: str, report: CrashReport, run: int) -> str:
    """Return what the status of a task tells about the end of its host."""
    stage = report.stages.get(run)
    doing = f" This task was in {stage} at that time." if stage else ""
    stacks = f"\nThe threads of that process, as it ended:\n{report.stacks}" if report.stacks else ""
    return f"The task host of this task (pid {pid}) {reason}.{doing}{stacks}"


def _part(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % FEW
