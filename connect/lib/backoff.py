"""Decides how long to wait before the next try. Pure: the caller does the waiting."""

from __future__ import annotations

import random
from collections.abc import Iterator

INITIAL_DELAY_S = 0.3
"""This is the first delay of Kafka Connect's RetryWithToleranceOperator (300 ms), in seconds."""
_MOST_DOUBLINGS = 30
"""The delay is doubled this many times at most: more doublings would overflow, and no maximum is as long."""


def delay_s(failures: int, *, initial_s: float, max_s: float) -> float:
    """Return the seconds to wait after this many `failures`: `initial_s`, doubled each time up to `max_s`."""
    return min(initial_s * 2.0 ** min(failures, _MOST_DOUBLINGS), max_s)


def delays_s(max_delay_s: float, *, initial_s: float = INITIAL_DELAY_S, seed: int | None = None) -> Iterator[float]:
    """Yield delays in seconds, doubled from `initial_s` to `max_delay_s`, each with up to 20 % of jitter taken off."""
    jitter = random.Random(seed)
    failures = 0
    while True:
        yield delay_s(failures, initial_s=initial_s, max_s=max_delay_s) * (1.0 - 0.2 * jitter.random())
        failures += 1
