"""Gives back the memory that the thread of a task keeps, once no rows have come for a while.

Arrow's allocator has a heap for each thread, and only that thread can give back the free memory in it. With hundreds
of idle tasks in a host these heaps are a third of its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

POLLS: Final = 3
"""A task is idle after so many polls without rows, each of a second in a source, of half a second in a sink."""


def give_back_own_heap() -> None:
    """Give back the free memory in the heap of the calling thread. It takes some microseconds."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


class IdleMemory:
    """Gives back the memory of a task that has polled nothing for a while. Owned by the task's thread."""

    def __init__(self, give_back: Callable[[], None] = give_back_own_heap) -> None:
        self._give_back = give_back
        self._left = 0

    def polled(self, *, has_rows: bool) -> None:
        """Take note of a poll. After POLLS polls without rows the memory of earlier rows is given back."""
        if has_rows:
            self._left = POLLS
        elif self._left:
            self._left -= 1
            if not self._left:
                self._give_back()
