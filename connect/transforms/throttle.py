"""Lets no more than a number of rows go on in a second (Throttle). It waits in the task's thread, at most ten seconds
for a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.transforms.settings.extra_config import ThrottleConfig

LONGEST_WAIT_S: Final = 10.0
"""No wait is longer, as the task has to notice a stop, and its consumer has to be polled."""


class Throttle:
    """Delays batches, counted from the first one on. After a pause, at most one second's rows may pass without
    waiting.
    """

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
        """Return the batch unchanged, once its turn has come."""
        now_s = self._clock()
        self._free_at_s = max(self._free_at_s, now_s - 1.0) + len(batch) * self._seconds_a_row
        if self._free_at_s > now_s:
            self._wait(min(LONGEST_WAIT_S, self._free_at_s - now_s))
        return [batch]
