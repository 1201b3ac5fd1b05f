"""Limits the bad rows that a task may set aside: by a count and a share, in a sliding window. Pure but for the clock.

Without a limit a bad deploy drains its topic into the dead-letter topic, one tolerated row after the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

LEAST_ROWS: Final = 100
"""The limit of the share does not apply before the window holds so many rows."""
_PARTS: Final = 60
"""The window moves in steps of a 60th of its length, so that only so many counts are kept."""


class ErrorLimits:
    """Adds up the rows and bad rows of one task in the last window. Owned by the task thread.

    count: the most bad rows that a window may have, or None for any number. ratio: the largest share of its rows that
    may be bad, from 0 to 1, or None for any share.
    """

    def __init__(
        self, count: int | None, ratio: float | None, window_s: float, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._count = count
        self._ratio = ratio
        self._window_s = window_s
        self._clock_s = clock_s
        self._parts: deque[list[float]] = deque()
        self._rows = 0.0
        self._bad = 0.0

    def saw(self, rows: int) -> None:
        """Count rows that were read; it is called before `refused` counts the bad ones among them."""
        if self._ratio is not None:
            self._rows += rows
            self._part()[1] += rows

    def refused(self, rows: int) -> str | None:
        """Count bad rows. Return the message for the task's failure if they are more than a limit allows, else None."""
        if self._count is None and self._ratio is None:
            return None
        part = self._part()
        part[2] += rows
        self._bad += rows
        window = f"the last {self._window_s:g} s (errors.tolerance.limit.window.ms)"
        if self._count is not None and self._bad > self._count:
            return f"{self._bad:.0f} bad rows in {window} are more than errors.tolerance.limit.count={self._count}."
        if self._ratio is not None and self._rows >= LEAST_ROWS and self._bad > self._ratio * self._rows:
            return (
                f"{self._bad:.0f} of {self._rows:.0f} rows in {window} are bad, more than"
                f" errors.tolerance.limit.ratio={self._ratio:g} allows."
            )
        return None

    def _part(self) -> list[float]:
        """Return the window's newest part, as [start, rows, bad rows], and forget what is older than the window."""
        now_s = self._clock_s()
        while self._parts and self._parts[0][0] <= now_s - self._window_s:
            _, rows, bad = self._parts.popleft()
            self._rows -= rows
            self._bad -= bad
        if not self._parts or self._parts[-1][0] <= now_s - self._window_s / _PARTS:
            self._parts.append([now_s, 0.0, 0.0])
        return self._parts[-1]
