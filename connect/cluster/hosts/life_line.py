"""The life line is a pipe that the worker and all of its task hosts hold open, and that nobody writes to.

The kernel closes a process's end of the pipe, however the process dies. So the end-of-file of the pipe proves that the
worker and every host are gone, which no closed connection over a network does.
"""

from __future__ import annotations

import os
import select
import time


class LifeLine:
    """Holds both ends of the pipe; the worker hands them on to its processes."""

    def __init__(self) -> None:
        """Make the pipe; it stays open until this process ends."""
        self.watched, self.held = os.pipe()


def await_end_of_all(watched: int, until_s: float) -> bool:
    """Wait until nobody holds the line. Return True then, or False if the monotonic clock reaches `until_s` before."""
    line = select.poll()
    line.register(watched, select.POLLIN)
    return bool(line.poll(max(0.0, until_s - time.monotonic()) * 1000))
