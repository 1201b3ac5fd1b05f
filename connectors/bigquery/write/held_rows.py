"""Remembers which rows of a partition a table holds, as runs of their offsets. Pure; a thread owns it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RUNS_MOST: Final = 20_000
"""Runs of the smallest offsets are forgotten beyond so many of all numbers, as rows come in about the order of their
offsets."""


class Run(NamedTuple):
    """Holds the first and the last of consecutive offsets."""

    first: int
    last: int


class HeldRows:
    """Holds the rows that a table has, or has refused, from an offset on. Below that offset nothing is known.

    A row is told by its offset and its number among the rows of its record. Rows that were never given do not count,
    as others of the same read may still bring them. A row of the number 0 holds all of its record, whose rows an
    earlier release wrote without numbers.
    """

    def __init__(self, known_from: int, runs: Iterable[tuple[int, Run]] = ()) -> None:
        """Take the runs that the table has, each with the number of its rows. Runs of a number ascend."""
        self.known_from = known_from
        self._runs: defaultdict[int, list[Run]] = defaultdict(list)
        for number, run in runs:
            self._runs[number].append(run)

    @property
    def count(self) -> int:
        """Return the number of its rows."""
        return sum(run.last - run.first + 1 for runs in self._runs.values() for run in runs)

    def lacking(self, offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the indices of the rows that it does not hold; None: it holds none of these."""
        import numpy as np

        least = int(offsets.min())
        if all(runs[-1].last < least for runs in self._runs.values() if runs):
            return None
        pairs = enumerate(zip(offsets.tolist(), numbers.tolist(), strict=True))
        whole = self._runs.get(0, ())
        lacking = [
            row
            for row, (offset, number) in pairs
            if not _holds(self._runs.get(number, ()), offset) and not (number and _holds(whole, offset))
        ]
        return None if len(lacking) == len(offsets) else np.array(lacking, np.int64)

    def add(self, offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Take rows that are in the table now, or refused."""
        import numpy as np

        order = np.lexsort((offsets, numbers))
        own, of_record = offsets[order], numbers[order]
        begins = np.flatnonzero((np.diff(of_record) != 0) | (np.diff(own) > 1)) + 1
        firsts, lasts = [0, *begins], [*(begins - 1), -1]
        found = zip(of_record[firsts].tolist(), own[firsts].tolist(), own[lasts].tolist(), strict=True)
        for number, first, last in found:
            _insert(self._runs[number], Run(first, last))
        self._forget()

    def _forget(self) -> None:
        """Forget the runs of the smallest offsets where there are too many, whatever their numbers."""
        if sum(map(len, self._runs.values())) <= _RUNS_MOST:
            return
        lasts = sorted(run.last for runs in self._runs.values() for run in runs)
        self.known_from = max(self.known_from, lasts[-_RUNS_MOST // 2 - 1] + 1)
        for number, runs in list(self._runs.items()):
            del runs[: bisect_left(runs, self.known_from, key=lambda run: run.last)]
            if not runs:
                del self._runs[number]


def _insert(runs: list[Run], run: Run) -> None:
    """Put a run among others that ascend, and join it with those that it touches."""
    start = stop = bisect_right(runs, run.first, key=lambda one: one.first)
    while start and runs[start - 1].last >= run.first - 1:
        start -= 1
    while stop < len(runs) and runs[stop].first <= run.last + 1:
        stop += 1
    touched = runs[start:stop]
    runs[start:stop] = [
        Run(min(run.first, *(one.first for one in touched)), max(run.last, *(one.last for one in touched)))
        if touched
        else run
    ]


def _holds(runs: Sequence[Run], offset: int) -> bool:
    index = bisect_right(runs, offset, key=lambda one: one.first)
    return index > 0 and runs[index - 1].last >= offset
