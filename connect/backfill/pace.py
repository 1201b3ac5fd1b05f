"""How fast a job may go, and when. Its owner may change it while the job runs. No I/O, no clock of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_WINDOW: Final = re.compile(r"(\d{2}:\d{2})-(\d{2}:\d{2})(?: +(\S+))?")


@dataclass(frozen=True, slots=True)
class Window:
    """The hours of a day in which a job works. Those from 22:00 to 06:00 go over midnight."""

    begin: time
    end: time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str) -> Window:
        """ValueError: what to write."""
        match = _WINDOW.fullmatch(text.strip())
        try:
            if match is not None:
                zone = ZoneInfo(match[3] or "UTC")
                return cls(time.fromisoformat(match[1]), time.fromisoformat(match[2]), zone)
        except (ValueError, ZoneInfoNotFoundError):
            pass
        raise ValueError('write hours and a zone, as "22:00-06:00 Europe/Berlin"')

    def is_open(self, at: datetime) -> bool:
        """Whether the job works at this moment."""
        now = at.astimezone(self.zone).time()
        if self.begin <= self.end:
            return self.begin <= now < self.end
        return now >= self.begin or now < self.end


@dataclass(frozen=True, slots=True)
class Pace:
    """Over all lanes; 0: no limit. window "": at any time."""

    max_rows_per_second: int = 0
    max_bytes_per_second: int = 0
    window: str = ""

    def is_open(self, at: datetime) -> bool:
        """Whether chunks may be begun at this moment."""
        return not self.window or Window.parse(self.window).is_open(at)


class Throttle:
    """The share of one lane. Owned by the lane's thread."""

    def __init__(self, lanes: int, clock_s: Callable[[], float]) -> None:
        """`lanes`: how many share the limits; `clock_s`: a monotonic clock."""
        self._lanes = lanes
        self._clock_s = clock_s
        self._paid_until_s = clock_s()

    def rest_s(self, pace: Pace, rows: int, size_bytes: int) -> float:
        """How long to wait after so many rows and bytes, by the stricter limit."""
        costs_s = [
            count * self._lanes / most
            for count, most in ((rows, pace.max_rows_per_second), (size_bytes, pace.max_bytes_per_second))
            if most
        ]
        if not costs_s:
            self._paid_until_s = self._clock_s()
            return 0.0
        self._paid_until_s = max(self._paid_until_s, self._clock_s()) + max(costs_s)
        return self._paid_until_s - self._clock_s()
