"""Computes with runs of offsets: a table holds all rows of a topic partition within each run. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

Run = tuple[int, int]
"""Has the offset of the first row of a run, and the offset behind its last row."""
Runs = tuple[Run, ...]
"""Has the runs of a partition, ascending. None touches the next one, except behind a run whose begin is unknown."""
UNKNOWN: Final = -1
"""A run begins here if an earlier version wrote its rows, and so did not tell where it had begun to read."""
RUNS_MAX: Final = 16
"""A table tells at most as many runs of a partition, as its metadata are read with every commit."""


def joined(runs: Iterable[Run]) -> Runs:
    """Return the offsets of all these runs as runs.

    A run whose begin is unknown stays apart from the one behind it, which begins where it ends.
    """
    found: list[Run] = []
    for begin, end in sorted(runs):
        before_begin, before_end = found[-1] if found else (0, UNKNOWN - 1)
        if begin > before_end:
            found.append((begin, end))
        elif before_begin != UNKNOWN or begin == UNKNOWN:
            found[-1] = (before_begin, max(end, before_end))
        elif end > before_end:
            found.append((before_end, end))
    return tuple(found)


def limited(runs: Runs) -> tuple[Runs, list[Run]]:
    """Return at most RUNS_MAX runs, and the smallest gaps between the given ones, which count as read therefore."""
    found, closed = list(runs), list[Run]()
    while len(found) > RUNS_MAX:
        gaps = [(after[0] - before[1], at) for at, (before, after) in enumerate(pairwise(found))]
        _, at = min(gap for gap in gaps if found[gap[1]][0] != UNKNOWN)
        closed.append((found[at][1], found[at + 1][0]))
        found[at : at + 2] = [(found[at][0], found[at + 1][1])]
    return tuple(found), closed


def end_of(runs: Runs) -> int:
    """Return the offset behind all runs, or 0 if there is none."""
    return runs[-1][1] if runs else 0
