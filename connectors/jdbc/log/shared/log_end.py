"""Tell if the reader of a log has reached its end, which moves on meanwhile. Owned by the reading thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

P = TypeVar("P", int, tuple[int, int])
ASK_S = 1.0
"""How often the server is asked where its log ends, at most."""


class LogEnd(Generic[P]):
    """Where the log ended when the server was asked last, and whether the reader has come there."""

    def __init__(self, ask: Callable[[], P], clock_s: Callable[[], float] = time.time) -> None:
        """`ask` gives the end of the server's log now. `clock_s` gives epoch seconds."""
        self._ask: Callable[[], P] = ask
        self._clock_s = clock_s
        self._end: tuple[P, float] | None = None
        self._ask_at_s = 0.0
        self.reached_s: float | None = None
        """The reader has read all that the log held at this time, in epoch seconds; None: it was not at the end yet."""

    def look(self, here: P) -> None:
        """Take note that the reader has read all before `here`, and that nothing more is there for now."""
        now_s = self._clock_s()
        if self._end is None and now_s >= self._ask_at_s:
            self._end, self._ask_at_s = (self._ask(), now_s), now_s + ASK_S
        if self._end is not None and here >= self._end[0]:
            (_, self.reached_s), self._end = self._end, None
