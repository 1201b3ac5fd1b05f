"""How many rows are under way in a run of a source or of a sink: what a kill would take from its tasks. Pure.

A task's figures come late and outlive it for a moment, so each number here is one that there are at least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class SourceCourse:
    """`present`: asks Kafka how many rows there are now. All that came in this life of the tasks is under way: what of
    it is stored, only the tasks know.
    """

    present: Callable[[], int]
    rows: int = 0
    _began_rows: int = 0

    def saw(self, rows: int) -> None:
        """So many rows are in Kafka."""
        self.rows = rows

    def under_way(self) -> int:
        """Rows that came since the tasks began."""
        return max(0, self.rows - self._began_rows)

    def killed(self) -> int:
        """The tasks are gone: what comes from now on is of the next ones."""
        hit = self.under_way()
        self.rows = self._began_rows = self.present()
        return hit


@dataclass(slots=True)
class SinkCourse:
    """Rows that the tasks have put and not committed. `committed`: asks Kafka for all partitions' offsets, added up."""

    committed: Callable[[], int]
    rows: int = 0
    """Committed ones."""
    _began_rows: int = 0
    """Committed ones when the tasks began."""
    _put: int = 0
    """What the tasks have put since, by their own figures."""
    _is_new: bool = False
    """The figures may still be those of tasks that were killed."""

    def saw(self, committed: int, put: int) -> None:
        """Offsets in Kafka, and figures of the tasks; 0 put: they tell none."""
        if put < self._put and not self._is_new:
            # They began anew by themselves, behind what was committed at the last look.
            self._began_rows = self.rows
        if not put or committed > self._began_rows:
            self._is_new = False
        self.rows, self._put = committed, put

    def under_way(self) -> int:
        """What the tasks have put for certain, without what is committed."""
        return 0 if self._is_new else max(0, self._began_rows + self._put - self.rows)

    def killed(self) -> int:
        """The tasks are gone, and commit nothing more: what they had put beyond that was under way."""
        self.rows = self.committed()
        hit = self.under_way()
        self._began_rows, self._is_new = self.rows, True
        return hit


def rows_put(figures: Mapping[str, float], read_at_once: int) -> int:
    """How many of the rows that sink tasks have read they have put, at least. `read_at_once`: by all tasks together.

    A batch counts as read before transforms, and as put behind them, which may leave rows out.
    """
    read, put = int(figures.get("polled_rows_total", 0)), int(figures.get("rows_total", 0))
    return max(0, read - read_at_once, min(read, put))
