"""How many heaps the C library keeps for the threads of a process."""

from __future__ import annotations

import ctypes
import os
from typing import Final

HEAPS: Final = 2
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of mallopt(3), GNU C library."""


def share_heaps() -> None:
    """Have threads share two heaps; by default there are eight per core, each with holes of its own.

    That is 1 to 2 MiB for a process with dozens of threads, and rows cost the same CPU time: what there is to gain from
    more heaps is Arrow's, which has its own. Before threads are started. Without effect where MALLOC_ARENA_MAX is set,
    or where the C library has no such setting.
    """
    library = ctypes.CDLL(None)
    if "MALLOC_ARENA_MAX" not in os.environ and hasattr(library, "mallopt"):
        library.mallopt(_ARENA_MAX, HEAPS)
