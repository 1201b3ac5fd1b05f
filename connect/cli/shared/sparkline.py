"""Draws the last figures of something that changes in one line of a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

LEAST_COLUMNS: Final = 100
"""A terminal of fewer columns has no room for a sparkline beside what has to be read."""
POINTS: Final = 16
"""So many figures a sparkline shows."""
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN: Final = "_.-=+*%#"
"""The same for a terminal that shows no Unicode."""


class History:
    """Keeps the last figures of many things, each by its key. Not thread-safe."""

    def __init__(self) -> None:
        self._kept: Mapping[object, tuple[float | None, ...]] = {}

    def add(self, figures: Mapping[object, float | None]) -> None:
        """Take one figure of each thing, None where it is not known; things that are not among them are forgotten."""
        self._kept = {key: (*self._kept.get(key, ()), figure)[-POINTS:] for key, figure in figures.items()}

    def line(self, key: object, encoding: str) -> str:
        """Return the sparkline of a thing, empty where nothing is known of it."""
        return sparkline(self._kept.get(key, ()), encoding)


def sparkline(figures: Iterable[float | None], encoding: str) -> str:
    """Return one character for each of the last figures, from nothing to the largest; a space where none is known.

    `encoding`: that of the terminal; one that has no blocks gets ASCII.
    """
    given = [*figures][-POINTS:]
    largest = max((figure for figure in given if figure is not None), default=0.0)
    steps = _BLOCKS if _shows(_BLOCKS, encoding) else _PLAIN
    return "".join(" " if figure is None else steps[_step(figure, largest)] for figure in given).rstrip()


def _shows(text: str, encoding: str) -> bool:
    """Return True if a terminal of this encoding shows a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _step(figure: float, largest: float) -> int:
    if largest <= 0 or figure <= 0:
        return 0
    # Whatever moves at all is told from what stands still.
    return max(1, round(figure / largest * (len(_BLOCKS) - 1)))
