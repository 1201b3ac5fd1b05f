"""Finds by halves the rows of a batch that are at fault, where the other side takes or refuses rows together.

It is for other sides that name no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


def refused_rows(
    start: int,
    stop: int,
    land: Callable[[int, int], None],
    refusals: tuple[type[Exception], ...],
    error: Exception,
) -> Iterator[tuple[int, Exception]]:
    """Land rows start..stop-1, which were refused together for `error`, in order and in parts.

    Gives each row that is refused even alone, and why, as soon as it is found. `land(first, last)` lands rows
    first..last-1, or raises one of `refusals` and has landed none of them.
    """
    if stop - start == 1:
        yield start, error
        return
    middle = (start + stop) // 2
    for first, last in ((start, middle), (middle, stop)):
        try:
            land(first, last)
        except refusals as found:
            yield from refused_rows(first, last, land, refusals, found)
