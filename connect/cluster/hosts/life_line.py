"""A pipe that the worker and all of its task hosts hold open, and nobody writes to.

The kernel closes a process's end of it however the process dies. So its end-of-file proves that the worker and every
host are gone, which no closed connection over a network does.
"""

from __future__ import annotations

import os
import select
import time


class LifeLine:
    """Holds both ends of the pipe, for the worker to hand on."""

    def __init__(self) -> None:
        """Make the pipe; it stays open until this process ends."""
        self.watched, self.held = os.pipe()


def await_end_of_all(watched: int, until_s: float) -> bool:
    """Return True when nobody holds the line any more, False when the monotonic clock gets to `until_s` before that."""
    line = select.poll()
    line.register(watched, select.POLLIN)
    return bool(line.poll(max(0.0, until_s - time.monotonic()) * 1000))
