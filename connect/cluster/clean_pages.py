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


def forget_clean_pages() -> int:
    """Unmap what is as it is in its file, and comes back from the page cache when it is touched; how many bytes.

    Only for a process with one thread: what is at an address must not change while this works. Arrow's libraries touch
    40 MiB of themselves when they are loaded, and need a quarter of it later.
    """
    if not _SMAPS.exists():
        return 0
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    before = _resident_bytes()
    for start, size_bytes in list(_clean_ranges(_SMAPS.read_text(encoding="utf-8", errors="replace"))):
        madvise(start, size_bytes, _DONTNEED)
    return before - _resident_bytes()


def _clean_ranges(smaps: str) -> Iterator[_Range]:
    """Mappings of files, not writable, of which no page was changed: relocated ones would be lost."""
    found: _Range | None = None
    for line in smaps.splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            start, end = (int(address, 16) for address in first.split("-"))
            of_file = len(rest) > 4 and rest[4].startswith("/") and "w" not in rest[0]
            found = _Range(start, end - start) if of_file else None
        elif first == "Anonymous:" and found is not None and rest[0] == "0":
            yield found


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
