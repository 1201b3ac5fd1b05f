"""Tells how often and for how long this worker waited for its part of the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


class RebalanceTimes:
    """Takes the times of rebalances. Owned by the membership's thread; any thread may read."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`clock_s` only goes on."""
        self._clock_s = clock_s
        self._began_s: float | None = None
        self._ended_s: float | None = None
        self._count = 0
        self._longest_s = 0.0
        self._total_s = 0.0

    def began(self) -> None:
        """Take note that the worker has no sure part of the work, unless that was known."""
        if self._began_s is None:
            self._began_s = self._clock_s()

    def ended(self) -> None:
        """Take note that the worker has its part; one of which no beginning was seen took no time."""
        self._ended_s = self._clock_s()
        lasted_s = 0.0 if self._began_s is None else self._ended_s - self._began_s
        self._longest_s = max(self._longest_s, lasted_s)
        self._total_s += lasted_s
        self._began_s = None
        self._count += 1

    def figures(self) -> Iterator[tuple[str, float]]:
        """Yield what is known; nothing of times before there was one."""
        yield "rebalancing", float(self._began_s is not None)
        yield "rebalances_total", float(self._count)
        if self._count and self._ended_s is not None:
            yield "rebalance_s_max", self._longest_s
            yield "rebalance_s_avg", self._total_s / self._count
            yield "rebalance_age_s", self._clock_s() - self._ended_s
