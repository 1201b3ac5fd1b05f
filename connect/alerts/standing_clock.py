"""Measures for how long tasks stand still, by a clock that never goes back.

A status tells since when a task stands still by the clock of day of the worker that wrote it. If this were compared
with the clock of day here at each look, setting a clock would turn each short wait into an alert.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping

from connect.alerts.facts import Subject


class StandingTimes:
    """Remembers when each subject was first seen to stand still. Used by one thread at a time."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Take a clock in seconds that never goes back."""
        self._clock_s = clock_s
        self._looked_s = -math.inf
        self._began: dict[Subject, tuple[int, float]] = {}

    def look(self, standing: Iterable[tuple[Subject, int]], now_ms: int) -> Mapping[Subject, int]:
        """Return for how many milliseconds each subject has stood still.

        `standing` has the start of each by the clock of day, which is `now_ms` here. At the first look these starts are
        used; a subject that is new at a later look began to stand still after the look before.
        """
        now_s = self._clock_s()
        most_s = now_s - self._looked_s
        began = {}
        for subject, since_ms in standing:
            known = self._began.get(subject)
            age_s = min(max(0.0, (now_ms - since_ms) / 1000), most_s)
            began[subject] = known if known is not None and known[0] == since_ms else (since_ms, now_s - age_s)
        self._began, self._looked_s = began, now_s
        return {subject: round(1000 * (now_s - began_s)) for subject, (_, began_s) in began.items()}
