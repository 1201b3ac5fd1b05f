"""Gives freed memory back to the system, as allocators keep hundreds of megabytes of it for later."""

from __future__ import annotations

import ctypes
import gc


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
