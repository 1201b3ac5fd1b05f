"""Decides when files end by the wall clock. It is pure: the time is given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Schedule:
    """Holds rotate.schedule.interval.ms and rotate.idle.ms. Each is None if the setting is off.

    With `each_flush` files end at every flush.
    """

    interval_ms: int | None
    idle_ms: int | None
    timezone: str
    each_flush: bool = False

    def due_ms(self, opened_ms: int) -> int | None:
        """Return the first multiple of the interval, counted from local midnight, after files were opened."""
        if self.interval_ms is None:
            return None
        local = datetime.fromtimestamp(opened_ms / 1000, UTC).astimezone(ZoneInfo(self.timezone))
        offset = local.utcoffset()
        shift_ms = 0 if offset is None else int(offset.total_seconds() * 1000)
        return ((opened_ms + shift_ms) // self.interval_ms + 1) * self.interval_ms - shift_ms

    def due_at(self, opened_ms: int, last_row_ms: int) -> float:
        """Return the time in milliseconds at which a file ends; infinity if it never ends by time."""
        due_ms = self.due_ms(opened_ms)
        idle_at = math.inf if self.idle_ms is None else last_row_ms + self.idle_ms
        return idle_at if due_ms is None else min(due_ms, idle_at)
