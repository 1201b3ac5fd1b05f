"""Draws a figure over the last minutes as the points of a line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 300
HEIGHT: Final = 48


@dataclass(frozen=True, slots=True)
class Plot:
    """Holds a line in a picture of WIDTH by HEIGHT; `points` is the attribute of SVG's polyline, `most` the largest
    value.
    """

    points: str
    most: float


def plot(values: Sequence[float | None]) -> Plot | None:
    """Return the line of the known values, or None if fewer than two are known."""
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return None
    most = max(value for _, value in known)
    step = WIDTH / max(1, len(values) - 1)
    scale = (HEIGHT - 4) / most if most > 0 else 0.0
    points = " ".join(f"{at * step:.1f},{HEIGHT - 2 - value * scale:.1f}" for at, value in known)
    return Plot(points, most)
