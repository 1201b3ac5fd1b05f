"""Makes lists that were read merge with the changes of these lists in the commit log. Pure.

The server tells values and writetimes of a list's elements, but not their positions, by which the log names elements.
So the list that was read replaces everything that was written until a fence: the list is cleared at the fence, and its
elements are written just behind it. Elements that were written later are in the log, and are left out here.

Positions are times. An appended element has the time of its appending. A prepended one has a time before 2010, as long
before as it was prepended after 2010, so that the element prepended last comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from connectors.cassandra.log.events.mutation import ComplexColumn, Deletion

_UUID_EPOCH: Final = 0x01B21DD213814000
"""So many intervals of 100 ns have passed from 15 October 1582 to 1970."""
_MIRROR_US: Final = 1_262_304_000_000_000
"""Is 1 January 2010, at which Cassandra mirrors the times of prepended elements (Lists.Prepender)."""

_AHEAD_US: Final = 60_000_000
"""The clocks of those who write may be ahead of ours by so much."""


def fenced(read: ComplexColumn, fence_us: int | None, now_us: int, fence_s: int) -> ComplexColumn:
    """Return the change of a list: cleared at the fence, with the elements until then behind it, and no later ones.

    If `fence_us` is None, the table's changes are in no log, and every element counts with its own writetime. An
    element with a time far in the future, which a client must have given, is kept, as it is not known to be in the log.
    `now_us` is the present time, `fence_s` the local time of the clearing.
    """
    elements = list(zip(_positions([cell.writetime_us for cell in read.cells], fence_us), read.cells, strict=True))
    if fence_us is None:
        return ComplexColumn(None, [cell._replace(path=path) for path, cell in elements])
    log_has = range(fence_us + 1, now_us + _AHEAD_US)
    kept = [(path, cell) for path, cell in elements if cell.writetime_us not in log_has]
    cells = [cell._replace(path=path, writetime_us=max(cell.writetime_us, fence_us + 1)) for path, cell in kept]
    return ComplexColumn(Deletion(fence_us, fence_s), cells)


def _positions(writetimes_us: Sequence[int], fence_us: int | None) -> list[bytes]:
    """Return the positions of a list's elements, in order: first elements prepended, then elements appended."""
    first_appended = max(0, len(writetimes_us) - 1)
    while first_appended and writetimes_us[first_appended - 1] <= writetimes_us[first_appended]:
        first_appended -= 1
    if fence_us is None:
        latest_us = max([_MIRROR_US, *writetimes_us])
    else:
        # Cassandra makes positions by its own clocks, to the millisecond. Positions in the log all lie beyond these.
        latest_us = max(_MIRROR_US, fence_us - _AHEAD_US - len(writetimes_us))
    found: list[int] = []
    for number, writetime_us in enumerate(writetimes_us):
        # A client may give any time as a writetime; positions do not depend on that, so the time is bounded.
        us = min(max(writetime_us, _MIRROR_US), latest_us)
        ticks = 10 * (us if number >= first_appended else 2 * _MIRROR_US - us)
        found.append(ticks if not found else max(ticks, found[-1] + 1))
    return [_timeuuid(ticks + _UUID_EPOCH) for ticks in found]


def _timeuuid(ticks: int) -> bytes:
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF
    return UUID(fields=(low, middle, high | 0x1000, 0x80, 0, 0)).bytes
