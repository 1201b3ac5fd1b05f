"""Decides how long to wait before the next try: exponential with jitter. Pure; the caller does the waiting."""

from __future__ import annotations

import random
from collections.abc import Iterator

INITIAL_DELAY_S = 0.3
"""This is the first delay of Kafka Connect's RetryWithToleranceOperator (300 ms), in seconds."""


def delays_s(max_delay_s: float, *, initial_s: float = INITIAL_DELAY_S, seed: int | None = None) -> Iterator[float]:
    """Delays in seconds, doubling from `initial_s` up to `max_delay_s`, each with up to 20 % of jitter taken off."""
    jitter = random.Random(seed)
    delay_s = initial_s
    while True:
        yield min(delay_s, max_delay_s) * (1.0 - 0.2 * jitter.random())
        delay_s = min(delay_s * 2.0, max_delay_s)
