"""Undoes escapes of URLs, such as `%3A` for a colon, and remembers where each was. Pure, in time linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

_VISIBLE: Final = re.compile(r"%(2[1-9a-f]|[3-6][0-9a-f]|7[0-9a-e])", re.IGNORECASE)
"""Matches the escape of one visible ASCII character. Other escapes are parts of longer characters, or end no name."""
_ADDED: Final = 2
"""An escape is longer than its character by this many characters."""


@dataclass(frozen=True, slots=True)
class Unescaped:
    """Holds a text without its escapes. `escapes` has the places of the characters that were escaped, in order."""

    text: str
    escapes: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Unescaped:
        """Return the text without its escapes."""
        places = tuple(found.start() - _ADDED * number for number, found in enumerate(_VISIBLE.finditer(text)))
        return cls(_VISIBLE.sub(lambda found: chr(int(found[1], 16)), text), places)

    def place(self, at: int) -> int:
        """Return the place in the text with escapes that belongs to a place of this text."""
        return at + _ADDED * bisect_left(self.escapes, at)
