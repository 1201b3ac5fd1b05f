"""Says how long a failing conversion is tried again: `errors.retry.timeout`. The caller does the waiting."""

from __future__ import annotations

import time
from collections.abc import Callable

from connect.api.errors import ConnectError, RetriableError


class RetriesOverError(ConnectError):
    """Says that a conversion failed for longer than `errors.retry.timeout`, as when a registry is away.

    A restart of the task may find it back.
    """


class TopicNotJudgedError(RetriableError):
    """Says that no broker has told what a topic holds, so that no row can be sent there for now.

    The framework asks this by itself, so it counts for no retry budget: rows wait for brokers that are away for as long
    as they wait when they are sent.
    """


class RetryBudget:
    """Counts the time for which a converter or transform goes on to raise RetriableError. Owned by the task thread.

    Such rows are not bad: a service that is away says nothing about them. So the task fails when the time is over,
    whatever `errors.tolerance` says. `timeout_ms` is 0 for no retry and negative for no end, as in Kafka Connect.
    """

    def __init__(self, timeout_ms: int, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._timeout_ms = timeout_ms
        self._clock_s = clock_s
        self._since_s: float | None = None

    def failed(self, error: RetriableError, what: str) -> None:
        """Return when the operation may be tried again. RetriesOverError: no time is left.

        `what` names the rows, as in "A batch for topic t".
        """
        now_s = self._clock_s()
        self._since_s = now_s if self._since_s is None else self._since_s
        if self._timeout_ms < 0 or (now_s - self._since_s) * 1000 < self._timeout_ms:
            return
        tried = "It was not tried again" if self._timeout_ms == 0 else f"Tried again for {now_s - self._since_s:.1f} s"
        raise RetriesOverError(
            f"{what} could not be converted: {error} {tried} (errors.retry.timeout={self._timeout_ms}).",
            key="errors.retry.timeout",
            fix="Bring back what is away, or set errors.retry.timeout to the milliseconds that it may be away.",
        ) from error

    def succeeded(self) -> None:
        """Let the next failure begin anew."""
        self._since_s = None
