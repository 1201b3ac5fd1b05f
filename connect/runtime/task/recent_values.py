"""Keeps recent averages, extremes and rates of numbers, in windows as long as those of Kafka Connect's metrics."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

WINDOW_S: Final = 30.0
"""Values count for so many seconds at least, twice as long at most: metrics.sample.window.ms and two samples."""


class Recent(NamedTuple):
    """Holds the average and the extremes of recent values."""

    average: float
    least: float
    largest: float


class _Part(NamedTuple):
    began_s: float
    values: int = 0
    total: float = 0.0
    least: float = math.inf
    largest: float = -math.inf

    def with_value(self, value: float) -> _Part:
        return _Part(
            self.began_s, self.values + 1, self.total + value, min(self.least, value), max(self.largest, value)
        )


class RecentValues:
    """Keeps the sums and extremes of recent values, but not the values. One thread adds, any may read."""

    def __init__(self) -> None:
        self._parts: tuple[_Part, ...] = ()
        """Holds at most two parts; the last one still grows. The tuple is replaced, so readers see no half change."""

    def add(self, value: float, now_s: float) -> None:
        """Take a value. `now_s` is from a monotonic clock."""
        parts = self._parts
        if not parts or now_s - parts[-1].began_s >= WINDOW_S:
            parts = (*parts[-1:], _Part(now_s))
        self._parts = (*parts[:-1], parts[-1].with_value(value))

    def at(self, now_s: float) -> Recent | None:
        """Return the figures of the values in the last window; None if there were none."""
        parts = [part for part in self._parts if now_s - part.began_s < 2 * WINDOW_S]
        if not parts:
            return None
        count = sum(part.values for part in parts)
        return Recent(
            sum(part.total for part in parts) / count,
            min(part.least for part in parts),
            max(part.largest for part in parts),
        )


class RecentRate:
    """Tells by how much per second a counter grew lately. Owned by the thread that asks."""

    def __init__(self, began_s: float) -> None:
        """Begin at `began_s`, when the counter was 0, by a monotonic clock."""
        self._marks: tuple[tuple[float, float], ...] = ((began_s, 0.0),)

    def at(self, value: float, now_s: float) -> float:
        """Return the growth per second since a moment that is one to two windows past, or since the begin.

        Call it at least once in a window. The moment is further back if there was no call for longer.
        """
        marks = self._marks
        if now_s - marks[-1][0] >= WINDOW_S:
            marks = (*marks[-1:], (now_s, value))
        self._marks = marks
        since_s, was = marks[0]
        return (value - was) / (now_s - since_s) if now_s > since_s else 0.0
