"""Holds which transactions the numbers of a position count, so that another server's are not taken for them. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

RUNS_AT_MOST = 500
"""A position has this many runs at most. A reader ends a chunk of the log before it needs more."""


class Run(NamedTuple):
    """Holds GTIDs that follow each other: `prefix` and each number from `first` on, `size` of them."""

    prefix: str
    first: int
    size: int = 1


Runs = tuple[Run, ...]


class NumberedTransactions:
    """Numbers the transactions behind a place from 1 on, and compares them with those that the place was stored with.

    Owned by the reading thread.
    """

    def __init__(self, stored: Iterable[Run]) -> None:
        """Begin at a place whose offset holds the GTIDs of transactions behind it, in their order."""
        self._expected = deque(stored)
        self._found: list[Run] = []
        self._last: Run | None = None
        self._has_unnamed = False

    def takes(self, gtid: str | None) -> bool:
        """Take the next transaction. Return False if the place was stored with another one in its stead.

        From then on nothing more is expected.
        """
        one = self._last = None if gtid is None else _run(gtid)
        last = self._found[-1] if self._found else None
        if one is None:
            self._has_unnamed = True
        elif last is not None and (last.prefix, last.first + last.size) == one[:2]:
            self._found[-1] = last._replace(size=last.size + 1)
        else:
            self._found.append(one)
        if not self._expected:
            return True
        expected = self._expected[0]
        if one is None or expected[:2] != one[:2]:
            self._expected.clear()
            return False
        self._expected.popleft()
        if expected.size > 1:
            self._expected.appendleft(Run(expected.prefix, expected.first + 1, expected.size - 1))
        return True

    def runs(self) -> Runs:
        """Return the GTIDs that are stored with numbers, or none if a transaction has no GTID."""
        return () if self._has_unnamed else (*self._found, *self._expected)

    @property
    def is_long(self) -> bool:
        """Return True if no more transactions should be taken before the place is moved."""
        return len(self._found) >= RUNS_AT_MOST

    def move(self, *, keeps_last: bool) -> None:
        """Move the place behind all transactions that were taken, or before the last one of them, which is open."""
        self._found = [self._last] if keeps_last and self._last is not None else []
        self._has_unnamed = keeps_last and self._last is None


def _run(gtid: str) -> Run:
    # MariaDB's are domain-server-number, MySQL's are uuid:number.
    separator = ":" if ":" in gtid else "-"
    prefix, _, number = gtid.rpartition(separator)
    return Run(prefix + separator, int(number))
