"""Gives freed memory back to the system, as allocators keep hundreds of megabytes of it for later."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Final

_ARENA_MAX: Final = -8
"""This is M_ARENA_MAX of glibc's malloc.h."""
_ARENAS: Final = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Whoever runs the worker may choose the number of arenas by one of these environment variables."""


def share_arenas() -> None:
    """Let threads share as many of glibc's arenas as there are cores, and at least two. Other C libraries have none.

    glibc makes eight for each core. A task's threads end with it, and the next ones get other arenas: in each of them
    some block that lives on holds back what was freed around it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and not any(os.environ.get(name) for name in _ARENAS):
        mallopt(_ARENA_MAX, max(2, os.cpu_count() or 1))


def give_back_freed_memory() -> None:
    """Give freed memory back to the system. It takes some milliseconds; other threads may go on meanwhile.

    glibc alone keeps pages of each thread's arena (malloc_trim(3)); other C libraries have no such call.
    """
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
