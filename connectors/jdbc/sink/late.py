"""Find which rows are bad, where a database says it at the end of their transaction and names none. Pure.

A row may lean on one that comes behind it, as a child on its parent: so rows are always tried together with all those
that are known to be good, and those that were refused are tried again while that finds another good one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Tried = Callable[[Sequence[int]], Exception | None]
_MOST_LEFT_OUT: Final = 64
"""So many refused rows are each left out of the others once, as rows that lean on each other hold together alone."""


def late_refusals(rows: int, tried: Tried) -> dict[int, Exception]:
    """Return the rows that cannot be written with the others, and why.

    `tried`: the error of these rows together, if any.
    """
    search = _Search(tried)
    found = search.among(range(rows))
    while found:
        left = search.among(sorted(found))
        if len(left) == len(found):
            return search.without_one(left)
        found = left
    return found


class _Search:
    def __init__(self, tried: Tried) -> None:
        self._tried = tried
        self._good: set[int] = set()

    def among(self, rows: Sequence[int]) -> dict[int, Exception]:
        """Return the rows that are refused beside the good ones, by halves; all others are good from now on."""
        error = self._tried(sorted(self._good.union(rows)))
        if error is None:
            self._good.update(rows)
            return {}
        if len(rows) == 1:
            return {rows[0]: error}
        middle = len(rows) // 2
        return {**self.among(rows[:middle]), **self.among(rows[middle:])}

    def without_one(self, refused: dict[int, Exception]) -> dict[int, Exception]:
        """Return the one row without which all others are good, where there is such a one."""
        if 1 < len(refused) <= _MOST_LEFT_OUT:
            for row, error in refused.items():
                if self._tried(sorted(self._good.union(refused) - {row})) is None:
                    return {row: error}
        return refused
