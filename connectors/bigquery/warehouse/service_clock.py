"""Tells the time by BigQuery's own answers, as the clock of a worker may be years ahead or behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime


class ServiceClock:
    """Holds the time that BigQuery's last answer told, and counts on from there. Used by several threads."""

    def __init__(self, since_s: Callable[[], float] = time.monotonic) -> None:
        """Take a clock in seconds that never goes back and that nobody sets."""
        self._since_s = since_s
        self._heard: tuple[float, float] | None = None

    def hear(self, date: str | None) -> None:
        """Take the header Date of an answer. One that is missing or no date is passed over."""
        try:
            told_s = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, OverflowError):
            return
        self._heard = told_s, self._since_s()

    @property
    def is_heard(self) -> bool:
        """Return True if an answer has told the time."""
        return self._heard is not None

    def now_s(self, own_s: float) -> float:
        """Return the time in seconds since 1970: BigQuery's, or `own_s` while no answer has told it."""
        heard = self._heard
        return own_s if heard is None else heard[0] + self._since_s() - heard[1]
