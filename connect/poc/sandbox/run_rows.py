"""Counts the rows that a run has under way: those that its tasks would lose if they were killed. Pure.

A task's metrics come late, and are still there for a moment after the task has ended. So each number is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class SourceRunRows:
    """Tells how many rows of a source's run are under way. `present` asks Kafka how many rows its topics have now.

    All rows that came since the tasks began count as under way, as only the tasks know which of them are stored.
    """

    present: Callable[[], int]
    rows: int = 0
    _began_rows: int = 0

    def saw(self, rows: int) -> None:
        """Note how many rows are in Kafka."""
        self.rows = rows

    def under_way(self) -> int:
        """Return the number of rows that came since the tasks began."""
        return max(0, self.rows - self._began_rows)

    def killed(self) -> int:
        """Begin to count for the next tasks, as these were killed; return how many rows were under way."""
        hit = self.under_way()
        self.rows = self._began_rows = self.present()
        return hit


@dataclass(slots=True)
class SinkRunRows:
    """Tells how many rows of a sink's run are under way: those that the tasks have put and not committed.

    `committed` asks Kafka for the sum of all committed offsets.
    """

    committed: Callable[[], int]
    rows: int = 0
    """Counts the rows that were committed at the last look."""
    _began_rows: int = 0
    """Counts the rows that were committed when the tasks began."""
    _put: int = 0
    """Counts the rows that the tasks have put since then, by their own metrics."""
    _is_new: bool = False
    """It is True while the metrics may still be those of tasks that were killed."""

    def saw(self, committed: int, put: int) -> None:
        """Note the sum of the committed offsets in Kafka, and the rows put by the tasks' metrics; 0: there are no
        metrics.
        """
        if put < self._put and not self._is_new:
            # The tasks began anew by themselves, from the offsets committed at the last look.
            self._began_rows = self.rows
        if not put or committed > self._began_rows:
            self._is_new = False
        self.rows, self._put = committed, put

    def under_way(self) -> int:
        """Return how many rows the tasks have certainly put and not committed."""
        return 0 if self._is_new else max(0, self._began_rows + self._put - self.rows)

    def killed(self) -> int:
        """Begin to count for the next tasks, as these were killed; return how many rows were under way."""
        self.rows = self.committed()
        hit = self.under_way()
        self._began_rows, self._is_new = self.rows, True
        return hit


def rows_put(figures: Mapping[str, float], read_at_once: int) -> int:
    """Return the number of rows that sink tasks have put at least, by their metrics.

    All tasks together read `read_at_once` rows in one poll. A row counts as read before the transforms and as put after
    them, and transforms may drop rows.
    """
    read, put = int(figures.get("polled_rows_total", 0)), int(figures.get("rows_total", 0))
    return max(0, read - read_at_once, min(read, put))
