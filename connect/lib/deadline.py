"""Defines a time limit that all steps of a call share, and that a stop ends early. Each step that waits gets one."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deadline:
    """Holds a moment of the monotonic clock, and the event that ends every wait early when the task is asked to
    stop.
    """

    at_s: float
    stop: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def after(cls, timeout_s: float, stop: threading.Event | None = None) -> Deadline:
        """Return the deadline `timeout_s` seconds from now."""
        return cls(time.monotonic() + timeout_s, stop or threading.Event())

    @property
    def remaining_s(self) -> float:
        """Return the seconds left, never negative; 0 once stop was asked for."""
        return 0.0 if self.stop.is_set() else max(0.0, self.at_s - time.monotonic())

    @property
    def expired(self) -> bool:
        """Tell if no time is left, or stop was asked for."""
        return self.remaining_s == 0.0

    def wait(self, at_most_s: float) -> bool:
        """Wait at most `at_most_s` seconds within the limit. Return False if the time is over or stop was asked for."""
        self.stop.wait(min(at_most_s, self.remaining_s))
        return not self.expired

    def sooner(self, timeout_s: float) -> Deadline:
        """Return the earlier of this deadline and `timeout_s` from now, with the same stop."""
        return Deadline(min(self.at_s, time.monotonic() + timeout_s), self.stop)
