"""Measures for how long tasks stand still, by a clock that only goes on.

Statuses tell since when by the clock of day of the worker that wrote them. Were that compared with this worker's clock
of day at each look, a clock that is set anew would make each short wait an alarm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping

from connect.alerts.facts import Subject


class StandingTimes:
    """Remembers when each subject was first seen to stand still. Used by one thread at a time."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`clock_s` gives seconds that never go back."""
        self._clock_s = clock_s
        self._looked_s = -math.inf
        self._began: dict[Subject, tuple[int, float]] = {}

    def look(self, standing: Iterable[tuple[Subject, int]], now_ms: int) -> Mapping[Subject, int]:
        """Return for how many milliseconds each subject has stood still.

        `standing` says since when by the clock of day, which is `now_ms` here. At the first look that is believed; what
        comes later has begun since the look before.
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
