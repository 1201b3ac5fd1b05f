"""Decides how often a batch is written again while the database is away: `max.retries`, `retry.backoff.ms`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline

WITHOUT_END: Final = -1


class Retries:
    """Keeps count of the tries of each batch. Owned by the task thread."""

    def __init__(self, most: int, backoff_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Take the limits. A batch is tried again `most` times or WITHOUT_END, with `backoff_s` seconds between two
        tries.
        """
        self._most = most
        self._backoff_s = backoff_s
        self._clock_s = clock_s
        self._failures = 0
        self._next_at_s = 0.0

    def wait(self, deadline: Deadline) -> None:
        """Wait until a batch may be tried again. RetriableError: the deadline comes first."""
        left_s = self._next_at_s - self._clock_s()
        if left_s > 0 and not deadline.wait(left_s):
            raise RetriableError("The next try to write the rows is still to come (retry.backoff.ms).")

    def failed(self, error: RetriableError) -> None:
        """Take note that a try failed. ConnectError: the batch was tried often enough."""
        self._failures += 1
        self._next_at_s = self._clock_s() + self._backoff_s
        if self._most == WITHOUT_END or self._failures <= self._most:
            return
        raise ConnectError(
            f"The rows were not written in {self._failures} tries: {error.message}",
            key="max.retries",
            fix="Bring the database back and restart the task, or leave max.retries out, so that it is waited for.",
        ) from error

    def succeeded(self) -> None:
        """Take note that a batch was written: the next one has all of its tries."""
        self._failures, self._next_at_s = 0, 0.0
