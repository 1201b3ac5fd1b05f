"""Counts how many starts of connectors or tasks were tried, and how they ended."""

from __future__ import annotations

from collections.abc import Iterator


class StartCounts:
    """Keeps the counts since the worker's own start. Owned by the herder's thread; any thread may read."""

    def __init__(self) -> None:
        self._tried = 0
        self._good = 0
        self._failed = 0

    def tried(self) -> None:
        """Count a start whose outcome is not known yet."""
        self._tried += 1

    def ended(self, *, well: bool) -> None:
        """Count the outcome of a start; `well` is True if it succeeded."""
        if well:
            self._good += 1
        else:
            self._failed += 1

    def figures(self, what: str) -> Iterator[tuple[str, float]]:
        """Yield names and values of the counts, and the shares of the known outcomes; `what` is part of the names."""
        good, failed = self._good, self._failed
        yield f"{what}_starts_total", float(self._tried)
        yield f"{what}_starts_good_total", float(good)
        yield f"{what}_starts_failed_total", float(failed)
        yield f"{what}_starts_good_ratio", good / (good + failed) if good + failed else 0.0
        yield f"{what}_starts_failed_ratio", failed / (good + failed) if good + failed else 0.0
