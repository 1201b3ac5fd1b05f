"""Remembers which connectors the last records of a topic concerned, so that nobody has to look at all others."""

from __future__ import annotations

from collections import deque
from typing import Final

MOST: Final = 2000
"""So many records are remembered. A reader that is further behind looks at all connectors."""


class RecentChanges:
    """Takes the names of connectors with places that grow. One thread adds, any may ask."""

    def __init__(self, most: int = MOST) -> None:
        self._recent: deque[tuple[int, str]] = deque(maxlen=most)
        self._forgotten_to = 0

    def add(self, at: int, name: str) -> None:
        """Take note that the record at this place concerned a connector."""
        if len(self._recent) == self._recent.maxlen:
            self._forgotten_to = self._recent[0][0] + 1
        self._recent.append((at, name))

    def since(self, at: int) -> frozenset[str] | None:
        """Return the connectors of the records at this place and behind it; None: they are no longer all known."""
        recent = tuple(self._recent)
        if at < self._forgotten_to:  # looked at behind the copy, which may have lost records meanwhile
            return None
        found = set()
        for place, name in reversed(recent):
            if place < at:
                break
            found.add(name)
        return frozenset(found)
