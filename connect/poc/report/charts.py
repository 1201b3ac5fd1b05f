"""Turns a chart into points on a canvas and labels, which the report's template draws. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect.poc.sandbox.result import Chart

WIDTH: Final = 640
HEIGHT: Final = 160
_POINTS_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Drawing:
    """Holds a chart that is ready to draw.

    `line` holds the points as `x,y x,y …` on a canvas of WIDTH x HEIGHT. `top` and `seconds` are the ends of the axes.
    `summary` says in words what the line shows, for people who cannot see it.
    """

    title: str
    line: str
    top: str
    seconds: str
    summary: str


def drawing_of(chart: Chart) -> Drawing:
    """Return the drawing of a chart.

    If it has more than 300 points, only the highest of each stretch is kept, so no peak is lost.
    """
    points = _thinned(chart.points)
    longest = max(at for at, _ in points) or 1.0
    highest = max(value for _, value in points) or 1.0
    line = " ".join(f"{at / longest * WIDTH:.1f},{HEIGHT - value / highest * HEIGHT:.1f}" for at, value in points)
    values = [value for _, value in chart.points]
    middle = sorted(values)[len(values) // 2]
    return Drawing(
        chart.title,
        line,
        f"{highest:,.4g} {chart.unit}",
        f"{longest:,.0f} s",
        f"{chart.title} over {longest:,.0f} s: from {min(values):,.4g} to {max(values):,.4g} {chart.unit}, "
        f"half of the time below {middle:,.4g}.",
    )


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    step = -(-len(points) // _POINTS_MAX)
    parts = [points[start : start + step] for start in range(0, len(points), step)]
    return [max(part, key=lambda point: point[1]) for part in parts]
