"""Remembers which connectors may have ended a host that died. Pure: the caller brings the clock."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from connect.cluster.hosts.task_host import CrashReport

PROBATION_S: Final = 600.0
"""A connector whose host died, or an asker whose question ended a host, is kept apart for this many seconds."""
FEW: Final = 8
"""At most this many suspects have a host each. More share this many; if one dies, its suspects are split again."""


class Suspects:
    """Keeps the connectors that were in a host when it died."""

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
        """Return the name of the group whose connectors may share a host with this one; None: it is no suspect."""
        group, until_s = self._groups.get(connector, (None, 0.0))
        if group is not None and self._clock_s() >= until_s:
            del self._groups[connector]
            return None
        return group


class SuspectedAskers:
    """Keeps the askers whose questions took long or ended a process; each is in one of a few groups for a while."""

    def __init__(self, groups: int, clock_s: Callable[[], float]) -> None:
        """Make `groups` groups, whose numbers begin at 1."""
        self._numbers = range(1, groups + 1)
        self._clock_s = clock_s
        self._groups: dict[str, tuple[int, float]] = {}

    def add(self, asker: str) -> None:
        """Make an asker a suspect, and put it into the group with the fewest others unless it has one."""
        now_s = self._clock_s()
        self._groups = {one: (group, until_s) for one, (group, until_s) in self._groups.items() if now_s < until_s}
        sizes = Counter(group for group, _ in self._groups.values())
        group = self.group_of(asker) or min(self._numbers, key=lambda number: sizes[number])
        self._groups[asker] = (group, now_s + PROBATION_S)

    def group_of(self, asker: str) -> int:
        """Return the number of an asker's group; 0 if the asker is no suspect."""
        group, until_s = self._groups.get(asker, (0, 0.0))
        return group if self._clock_s() < until_s else 0


def last_words(pid: int, reason: str, report: CrashReport, run: int) -> str:
    """Return the text for the status of a task whose host has ended."""
    stage = report.stages.get(run)
    doing = f" This task was in {stage} at that time." if stage else ""
    stacks = f"\nThe threads of that process, as it ended:\n{report.stacks}" if report.stacks else ""
    return f"The task host of this task (pid {pid}) {reason}.{doing}{stacks}"


def _part(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % FEW
