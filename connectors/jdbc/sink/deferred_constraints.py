"""Finds the bad rows if a database checks constraints only at the end of a transaction, and then refuses it. Pure.

A row may need a later one, as a child needs its parent. So rows are always tried together with all rows that are known
to be good. Refused rows are tried again as long as that finds another good row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Tried = Callable[[Sequence[int]], Exception | None]
_MOST_LEFT_OUT: Final = 64
"""If at most this many rows are refused, each is left out once in a try with all others, as rows that need each other
can be written only together.
"""


def late_refusals(rows: int, tried: Tried) -> dict[int, Exception]:
    """Return the rows that cannot be written with the others, and why.

    `tried` writes rows together, and returns their error or None.
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
        """Return the rows that are refused together with the good ones, found by halving; all others count as good from
        now on.
        """
        error = self._tried(sorted(self._good.union(rows)))
        if error is None:
            self._good.update(rows)
            return {}
        if len(rows) == 1:
            return {rows[0]: error}
        middle = len(rows) // 2
        return {**self.among(rows[:middle]), **self.among(rows[middle:])}

    def without_one(self, refused: dict[int, Exception]) -> dict[int, Exception]:
        """Return only the row without which all others are good; if there is no such row, return all refused ones."""
        if 1 < len(refused) <= _MOST_LEFT_OUT:
            for row, error in refused.items():
                if self._tried(sorted(self._good.union(refused) - {row})) is None:
                    return {row: error}
        return refused
