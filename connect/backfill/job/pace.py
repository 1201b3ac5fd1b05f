"""Limits how fast a job goes, and in which hours. Its owner may change the limits while it runs.

The time is passed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Final
from zoneinfo import ZoneInfo

from connect.api.errors import RetriableError
from connect.api.optional.bulk import SourceLoad
from connect.lib.setting_text import named_zone

_ASK_S: Final = 5.0
_WINDOW: Final = re.compile(r"(\d{2}:\d{2})-(\d{2}:\d{2})(?: +(\S+))?")


@dataclass(frozen=True, slots=True)
class Window:
    """Holds the hours of a day in which a job works. Hours such as 22:00 to 06:00 include midnight."""

    begin: time
    end: time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str) -> Window:
        """Return the window that a text describes. ValueError says what to write."""
        match = _WINDOW.fullmatch(text.strip())
        try:
            if match is not None:
                zone = named_zone(match[3] or "UTC")
                return cls(time.fromisoformat(match[1]), time.fromisoformat(match[2]), zone)
        except ValueError:
            pass
        raise ValueError('write hours and a zone, as "22:00-06:00 Europe/Berlin"')

    def is_open(self, at: datetime) -> bool:
        """Return True if the job works at this moment."""
        now = at.astimezone(self.zone).time()
        if self.begin <= self.end:
            return self.begin <= now < self.end
        return now >= self.begin or now < self.end


@dataclass(frozen=True, slots=True)
class Pace:
    """Holds the limits of a job over all of its lanes; 0 means no limit.

    `window` holds the hours in which it works; empty: at any time. `max_replica_lag` is in seconds.
    """

    max_rows_per_second: int = 0
    max_bytes_per_second: int = 0
    window: str = ""
    max_active_sessions: int = 0
    max_replica_lag: float = 0.0
    source_connections: int = 0

    def is_open(self, at: datetime) -> bool:
        """Return True if chunks may be begun at this moment."""
        return not self.window or Window.parse(self.window).is_open(at)

    def bears(self, load: SourceLoad) -> bool:
        """Return True if a source with this load may be read."""
        sessions, lag_s = load.active_sessions or 0, load.replica_lag_s or 0.0
        is_crowded = self.max_active_sessions and sessions > self.max_active_sessions
        is_behind = self.max_replica_lag and lag_s > self.max_replica_lag
        return not (is_crowded or is_behind)

    def least_s(self, rows: int, size_bytes: int) -> float:
        """Return how many seconds these rows and bytes take at least, by the stricter limit; 0 if there is no limit."""
        counts = ((rows, self.max_rows_per_second), (size_bytes, self.max_bytes_per_second))
        return max(count / most if most else 0.0 for count, most in counts)

    def line(self) -> str:
        """Return the limits in a line for people."""
        told = [
            f"{self.max_rows_per_second:,} rows/s" if self.max_rows_per_second else "",
            f"{self.max_bytes_per_second:,} bytes/s" if self.max_bytes_per_second else "",
            f"the hours {self.window}" if self.window else "",
            f"{self.max_active_sessions:,} active sessions of the source" if self.max_active_sessions else "",
            f"replicas {self.max_replica_lag:g} s behind" if self.max_replica_lag else "",
            f"{self.source_connections:,} connections to the source" if self.source_connections else "",
        ]
        return ", ".join(filter(None, told)) or "none"

    @property
    def is_guarded(self) -> bool:
        """Return True if a limit depends on how busy the source is."""
        return bool(self.max_active_sessions or self.max_replica_lag)


@dataclass(frozen=True, slots=True)
class RemainingLanes:
    """Holds how many lanes are not at their ends, and how many connections one lane's reader has to the source."""

    lanes: int
    reader_connections: int

    def at_once(self, pace: Pace) -> int:
        """Return how many lanes may run at a time: at least one, as a job that should stand still is paused."""
        if not pace.source_connections:
            return self.lanes
        return max(1, min(self.lanes, pace.source_connections // self.lane_connections(pace)))

    def lane_connections(self, pace: Pace) -> int:
        """Return how many connections one lane has at most: its reader's, and one to ask how busy the source is."""
        return self.reader_connections + pace.is_guarded


class SourceGuard:
    """Knows if a source may be read now. Owned by the lane's thread."""

    def __init__(self, ask: Callable[[], SourceLoad], clock_s: Callable[[], float]) -> None:
        """Take the function that asks the source for its load, and a monotonic clock in seconds.

        `ask` raises RetriableError if the source does not answer.
        """
        self._ask = ask
        self._clock_s = clock_s
        self._ask_at_s = clock_s()
        self._load: SourceLoad | None = None

    def allows(self, pace: Pace) -> bool:
        """Return False if the source is busier than the pace allows or does not answer. It is asked every 5 seconds."""
        if not pace.is_guarded:
            return True
        if self._clock_s() >= self._ask_at_s:
            try:
                self._load = self._ask()
            except RetriableError:
                self._load = None
            self._ask_at_s = self._clock_s() + _ASK_S
        return self._load is not None and pace.bears(self._load)


class Throttle:
    """Keeps one lane to its share of the limits. Owned by the lane's thread."""

    def __init__(self, lanes: int, clock_s: Callable[[], float]) -> None:
        """Take `lanes`, the number of lanes that share the limits, and `clock_s`, a monotonic clock."""
        self._lanes = lanes
        self._clock_s = clock_s
        self._paid_until_s = clock_s()

    def rest_s(self, pace: Pace, rows: int, size_bytes: int) -> float:
        """Return how many seconds to wait after these rows and bytes, by the stricter limit."""
        cost_s = self._lanes * pace.least_s(rows, size_bytes)
        if not cost_s:
            self._paid_until_s = self._clock_s()
            return 0.0
        self._paid_until_s = max(self._paid_until_s, self._clock_s()) + cost_s
        return self._paid_until_s - self._clock_s()
