"""Formats figures, times and long texts for pages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from connect.lib.printable import counted

NONE: Final = "–"
"""Stands for a value that is not known."""
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def count(value: float | None) -> str:
    """Return a whole number with commas between the thousands."""
    return NONE if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Return a number per second; one below 10 has a digit behind the point."""
    if value is None:
        return NONE
    return f"{value:,.1f}" if 0 < value < 10 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Return a span of time, given in seconds, in the largest unit that fits."""
    if value is None:
        return NONE
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.1f} s"


def size(value: float | None) -> str:
    """Return a number of bytes as MiB, or as KiB if it is below one MiB."""
    if value is None:
        return NONE
    return f"{value / 2**20:,.1f} MiB" if value >= 2**20 else f"{value / 2**10:,.1f} KiB"


def moment(epoch_ms: int) -> str:
    """Return a time, given in milliseconds since 1970, in UTC."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters; a text that was cut ends with `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "count": count,
    "counted": counted,
    "rate": rate,
    "seconds": seconds,
    "size": size,
    "cut": cut,
}
"""Holds the filters by the names under which templates use them."""
