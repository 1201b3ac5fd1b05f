"""Keeps count of the dead letters of the last hour, from counters of tasks that begin at 0 with each run. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Final

HOUR_MS: Final = 3_600_000


class RecentLetters:
    """Counts dead letters from its first look on; those written before are not known."""

    def __init__(self) -> None:
        self._began_ms: int | None = None
        self._heard_all = False
        self._totals: dict[str, float] = {}
        self._grown: defaultdict[str, deque[tuple[int, float]]] = defaultdict(deque)

    def look(self, figures: Mapping[str, Mapping[str, float]], now_ms: int, *, heard_all: bool) -> Mapping[str, float]:
        """Return the count of each connector. `heard_all`: every worker gave its figures. `now_ms` never goes back.

        If a worker was silent at the look before, a task that is seen first now may have run there. So its letters so
        far do not count as new.
        """
        if self._began_ms is None:
            self._began_ms = now_ms
        for task, values in figures.items():
            total = values.get("dead_letters_total")
            if total is not None:
                before = self._totals.get(task, 0.0 if self._heard_all else total)
                self._totals[task] = total
                grown = total - before if total >= before else total
                if grown:
                    self._grown[task.rpartition("-")[0]].append((now_ms, grown))
        self._heard_all = heard_all
        for connector in list(self._grown):
            times = self._grown[connector]
            while times and times[0][0] <= now_ms - HOUR_MS:
                times.popleft()
            if not times:
                del self._grown[connector]
        return {connector: sum(grown for _, grown in times) for connector, times in self._grown.items()}

    def knows_whole_hour(self, now_ms: int) -> bool:
        """Return True if the first look was an hour ago or more."""
        return self._began_ms is not None and now_ms - self._began_ms >= HOUR_MS
