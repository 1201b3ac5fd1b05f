"""When files end by the wall clock. Pure: the time is given."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Schedule:
    """rotate.schedule.interval.ms and rotate.idle.ms; None: off. each_flush: files end at every flush."""

    interval_ms: int | None
    idle_ms: int | None
    timezone: str
    each_flush: bool = False

    def due_ms(self, opened_ms: int) -> int | None:
        """The first multiple of the interval, counted from local midnight, after files were opened."""
        if self.interval_ms is None:
            return None
        local = datetime.fromtimestamp(opened_ms / 1000, UTC).astimezone(zoneinfo.ZoneInfo(self.timezone))
        offset = local.utcoffset()
        shift_ms = 0 if offset is None else int(offset.total_seconds() * 1000)
        return ((opened_ms + shift_ms) // self.interval_ms + 1) * self.interval_ms - shift_ms

    def is_due(self, opened_ms: int, last_row_ms: int, now_ms: int) -> bool:
        """A file that was opened then, and had its last row then, ends now."""
        due = self.due_ms(opened_ms)
        is_idle = self.idle_ms is not None and now_ms - last_row_ms >= self.idle_ms
        return is_idle or (due is not None and now_ms >= due)
