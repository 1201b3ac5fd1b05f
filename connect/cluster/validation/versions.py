"""Tells which versions of a plug-in a configuration accepts: one version, or a range in Maven's notation. Pure.

Ranges: `[1.0,2.0)` (an open side has no limit), several joined by commas (`[1.0],[2.0,)`). Source: KIP-891.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from connect.plugins.catalog import version_key

_RANGE = re.compile(r"([\[(])([^,\[\]()]*)(?:(,)([^,\[\]()]*))?([\])])")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Holds a range of versions from `low` to `high`; an empty text means that there is no limit."""

    low: str
    high: str
    with_low: bool = True
    with_high: bool = True

    def __contains__(self, version: str) -> bool:
        key = version_key(version)
        above = not self.low or key > version_key(self.low) or (self.with_low and key == version_key(self.low))
        below = not self.high or key < version_key(self.high) or (self.with_high and key == version_key(self.high))
        return above and below

    def __str__(self) -> str:
        return f"{'[' if self.with_low else '('}{self.low},{self.high}{']' if self.with_high else ')'}"


def parse_versions(text: str) -> tuple[VersionRange, ...]:
    """Return the ranges of a text. ValueError when it is neither a version nor ranges."""
    text = re.sub(r"\s", "", text)
    if text and not re.search(r"[\[\](),]", text):
        return (VersionRange(text, text),)
    ranges = [_range(match) for match in _RANGE.finditer(text)]
    if not ranges or _RANGE.sub("", text).strip(","):
        raise ValueError(f"Invalid version {text!r}: give one version, or a range such as [1.0,2.0).")
    return tuple(ranges)


def _range(match: re.Match[str]) -> VersionRange:
    opening, low, comma, high, closing = match.groups()
    return VersionRange(low, high if comma else low, opening == "[", closing == "]")
