"""Polls until a condition holds. It does all the waiting of this package."""

import threading
import time
from collections.abc import Callable
from typing import Final

from connect.tools.services.process.errors import ServiceTimeoutError

POLL_INTERVAL_S: Final = 0.05


def poll_until(condition: Callable[[], bool], *, deadline_s: float, waiting_for: str, fix: str) -> None:
    """Return as soon as `condition()` is true. ServiceTimeoutError: it is not after `deadline_s` seconds.

    An error that the condition raises ends the wait, so a condition can also say that waiting is pointless.
    """
    deadline = time.monotonic() + deadline_s
    pause = threading.Event()
    while not condition():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise ServiceTimeoutError(f"Gave up waiting for {waiting_for} after {deadline_s:g} s.", fix=fix)
        pause.wait(min(POLL_INTERVAL_S, left_s))
