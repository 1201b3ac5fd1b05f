"""Counts rows by how long they were on their way. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

BOUNDS_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class LatencyHistogram:
    """Keeps the number of rows in each range of times. Owned by the task's thread; any thread may read."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0

    def add(self, latency_s: float, rows: int) -> None:
        """Count rows that were all on their way for `latency_s` seconds."""
        self._counts[sum(bound_s < latency_s for bound_s in BOUNDS_S)] += rows
        self._sum_s += latency_s * rows

    def figures(self, name: str) -> Iterator[tuple[str, float]]:
        """Yield the counts up to each bound, and the sum of seconds, as figures: `NAME_le_0.5`, …, `NAME_sum_s`."""
        counts, sum_s, so_far = list(self._counts), self._sum_s, 0
        for label, count in zip((*map(str, BOUNDS_S), "+Inf"), counts, strict=True):
            so_far += count
            yield f"{name}_le_{label}", float(so_far)
        yield f"{name}_sum_s", sum_s
