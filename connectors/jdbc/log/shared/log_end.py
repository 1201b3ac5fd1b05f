"""Tells if the reader of a log has reached its end, which moves on meanwhile. Owned by the reading thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

P = TypeVar("P", int, tuple[int, int])
ASK_S: Final = 1.0
"""The server is asked where its log ends at most once in this many seconds."""
MEASURE_S: Final = 10.0
"""A reader that is not at the end asks at most once in this many seconds how much of the log is unread."""


class LogEnd(Generic[P]):
    """Keeps where the log ended when the server was asked last, and if the reader has come there."""

    def __init__(
        self, ask: Callable[[], P], bytes_after: Callable[[P], int | None], clock_s: Callable[[], float] = time.time
    ) -> None:
        """Take functions that ask.

        `ask` returns the end of the server's log now. `bytes_after` returns how many bytes of the log are behind a
        place, or None if it cannot tell. `clock_s` returns epoch seconds.
        """
        self._ask: Callable[[], P] = ask
        self._bytes_after: Callable[[P], int | None] = bytes_after
        self._clock_s = clock_s
        self._end: tuple[P, float] | None = None
        self._ask_at_s = 0.0
        self._measure_at_s = 0.0
        self.reached_s: float | None = None
        """The reader has read all that the log held at this time, in epoch seconds, or None if it was not at the end
        yet.
        """
        self.unread_bytes: int | None = None
        """The log held this many bytes behind the reader at the last look, or None if the number is not known."""

    def look(self, here: P) -> None:
        """Take note that the reader has read all before `here`, and that nothing more is there for now."""
        now_s = self._clock_s()
        if self._end is None and now_s >= self._ask_at_s:
            self._end, self._ask_at_s = (self._ask(), now_s), now_s + ASK_S
        if self._end is not None and here >= self._end[0]:
            (_, self.reached_s), self._end = self._end, None
            self.unread_bytes = 0
        elif self._end is not None:
            self.measure(here)

    def measure(self, here: P) -> None:
        """Take note that the reader has read all before `here`, and that there may be more."""
        now_s = self._clock_s()
        if now_s >= self._measure_at_s:
            self.unread_bytes = self._bytes_after(here)
            self._measure_at_s = now_s + MEASURE_S
