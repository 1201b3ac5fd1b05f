"""Throttle: no more than so many rows a second go on. It waits in the task's thread, ten seconds a batch at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.transforms.settings.extra_config import ThrottleConfig

LONGEST_WAIT_S: Final = 10.0
"""Bounds one wait, as a task has to hear of a stop, and a consumer has to be polled."""


class Throttle:
    """Counts from the first batch on; time in which nothing came is not made up for by more than a second of rows."""

    def __init__(
        self,
        config: ThrottleConfig,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = lambda seconds: Deadline.after(LONGEST_WAIT_S).wait(seconds),
    ) -> None:
        self._seconds_a_row = 1.0 / config.rows_per_second
        self._clock, self._wait = clock, wait
        self._free_at_s = 0.0

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch, unchanged, when its turn has come."""
        now_s = self._clock()
        self._free_at_s = max(self._free_at_s, now_s - 1.0) + len(batch) * self._seconds_a_row
        if self._free_at_s > now_s:
            self._wait(min(LONGEST_WAIT_S, self._free_at_s - now_s))
        return [batch]
