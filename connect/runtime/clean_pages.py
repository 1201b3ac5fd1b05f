"""Gives back the pages of libraries that were only needed while they were loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_DONTNEED: Final = 4
"""MADV_DONTNEED of madvise(2), Linux."""
_SMAPS: Final = Path("/proc/self/smaps")


class _Range(NamedTuple):
    start: int
    size_bytes: int


class CleanPages:
    """What the libraries of this process hold in memory as it is in their files.

    Pages that are given back come from the page cache again when they are touched. Arrow's libraries touch 40 MiB of
    themselves when they are loaded, and need a quarter of it later; so do others, a little less.

    Made after libraries are loaded; any thread may give them back a while later, also in a process that was forked from
    this one. A library that another thread is just loading (a resolver of host names, say) is no harm: for a moment its
    file is mapped as one range, which is gone when the pages are given back.
    """

    def __init__(self) -> None:
        self._ranges = _clean_ranges()
        self._madvise = ctypes.CDLL(None, use_errno=True).madvise
        self._madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

    def forget(self) -> None:
        """Give them back; nothing where it is not known which they are."""
        for start, size_bytes in self._ranges & _clean_ranges():
            self._madvise(start, size_bytes, _DONTNEED)


def _clean_ranges() -> frozenset[_Range]:
    """Mappings of libraries, not writable, of which no page was changed: relocated ones would be lost."""
    smaps = _SMAPS.read_text(encoding="utf-8", errors="replace") if _SMAPS.exists() else ""
    return frozenset(_ranges_in(smaps))


def _ranges_in(smaps: str) -> Iterator[_Range]:
    found: _Range | None = None
    for line in smaps.splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            start, end = (int(address, 16) for address in first.split("-"))
            of_library = len(rest) > 4 and ".so" in rest[4] and "w" not in rest[0]
            found = _Range(start, end - start) if of_library else None
        elif first == "Anonymous:" and found is not None and rest[0] == "0":
            yield found
