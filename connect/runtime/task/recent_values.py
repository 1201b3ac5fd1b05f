"""What a number was of late: its average and its extremes, in a window as long as that of Kafka Connect's metrics."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

WINDOW_S: Final = 30.0
"""Values count for this time at least, and for twice as long at most: metrics.sample.window.ms and two samples."""


class Recent(NamedTuple):
    """Tells what some values were."""

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
    """Keeps no values, but what is asked of them. One thread adds, any may read."""

    def __init__(self) -> None:
        self._parts: tuple[_Part, ...] = ()
        """At most two, the last one still grows. A change puts others in their place: a reader sees them whole."""

    def add(self, value: float, now_s: float) -> None:
        """Take a value, at a time of a clock that only goes on."""
        parts = self._parts
        if not parts or now_s - parts[-1].began_s >= WINDOW_S:
            parts = (*parts[-1:], _Part(now_s))
        self._parts = (*parts[:-1], parts[-1].with_value(value))

    def at(self, now_s: float) -> Recent | None:
        """Return what the values of the last window were; None when there were none."""
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
    """Tells how much a counter grew in a second of late. Owned by the thread that asks."""

    def __init__(self, began_s: float) -> None:
        """`began_s`: when the counter was 0, by a clock that only goes on."""
        self._marks: tuple[tuple[float, float], ...] = ((began_s, 0.0),)

    def at(self, value: float, now_s: float) -> float:
        """Return the growth in a second since a moment that is one to two windows past, or since it began.

        It is called once in a window at least: the moment lies as far back as there was no call.
        """
        marks = self._marks
        if now_s - marks[-1][0] >= WINDOW_S:
            marks = (*marks[-1:], (now_s, value))
        self._marks = marks
        since_s, was = marks[0]
        return (value - was) / (now_s - since_s) if now_s > since_s else 0.0
