"""Measures how often and for how long this worker waited for its slots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


class RebalanceTimes:
    """Measures the times of rebalances. Owned by the membership thread; any thread may read."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that never goes back, in seconds."""
        self._clock_s = clock_s
        self._began_s: float | None = None
        self._ended_s: float | None = None
        self._count = 0
        self._longest_s = 0.0
        self._total_s = 0.0

    def began(self) -> None:
        """Take note that a rebalance has begun, unless one is under way."""
        if self._began_s is None:
            self._began_s = self._clock_s()

    def ended(self) -> None:
        """Take note that a rebalance has ended. It counts as 0 s if `began` was not called for it."""
        self._ended_s = self._clock_s()
        lasted_s = 0.0 if self._began_s is None else self._ended_s - self._began_s
        self._longest_s = max(self._longest_s, lasted_s)
        self._total_s += lasted_s
        self._began_s = None
        self._count += 1

    def figures(self) -> Iterator[tuple[str, float]]:
        """Yield names and values of the figures; those of times only after the first rebalance."""
        yield "rebalancing", float(self._began_s is not None)
        yield "rebalances_total", float(self._count)
        if self._count and self._ended_s is not None:
            yield "rebalance_s_max", self._longest_s
            yield "rebalance_s_avg", self._total_s / self._count
            yield "rebalance_age_s", self._clock_s() - self._ended_s
