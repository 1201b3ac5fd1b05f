"""Groups small files to be joined: those that follow each other, from the first one on, up to the wanted size.

What was found a little later gives the same groups, but for the last one. It is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
_SMALL_SHARE: Final = 2
"""A file is small below a half of the target: two of those make one that is not."""


def is_small(size_bytes: int, target_bytes: int) -> bool:
    """Tell if a file is so small that it is worth joining with others."""
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
