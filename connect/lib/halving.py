"""Finds the bad rows of a batch by halving it, for targets that accept or refuse rows together and name none."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def refused_rows(
    start: int,
    stop: int,
    land: Callable[[int, int], None],
    refusals: tuple[type[Exception], ...],
    error: Exception,
) -> Iterator[tuple[int, Exception]]:
    """Land rows start..stop-1 in order and in parts, after they were refused together with `error`.

    Yield each row that is refused even alone, with its error, as soon as it is found. `land(first, last)` lands rows
    first..last-1, or raises one of `refusals` and has then landed none of them.
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
