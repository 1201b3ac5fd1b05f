"""Groups small files to be joined: files that follow each other, from the first one on, up to the wanted size. Pure.

If the files are listed again a little later, the groups are the same, except the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
_SMALL_SHARE: Final = 2
"""A file is small if it has less than one half of the target size."""


def is_small(size_bytes: int, target_bytes: int) -> bool:
    """Return True if a file is so small that it is worth joining with others."""
    return size_bytes < target_bytes // _SMALL_SHARE


def small_groups(files: Iterable[T], size_of: Callable[[T], int], target_bytes: int) -> Iterator[Sequence[T]]:
    """Yield groups of at least two files, together no larger than the target."""
    group: list[T] = []
    size_bytes = 0
    for file in files:
        if group and size_bytes + size_of(file) > target_bytes:
            if len(group) > 1:
                yield group
            group, size_bytes = [], 0
        group.append(file)
        size_bytes += size_of(file)
    if len(group) > 1:
        yield group
