"""Undoes the escapes of URLs, `%3A` for a colon, and tells where each character stood. Pure, and linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

_VISIBLE: Final = re.compile(r"%(2[1-9a-f]|[3-6][0-9a-f]|7[0-9a-e])", re.IGNORECASE)
"""Matches the escape of one visible ASCII character. Others are parts of characters, or end no name."""
_ADDED: Final = 2
"""So many characters an escape has beside the one that it stands for."""


@dataclass(frozen=True, slots=True)
class Unescaped:
    """A text without its escapes. escapes: where in it the characters are that were escaped, in order."""

    text: str
    escapes: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Unescaped:
        """Return the text without its escapes."""
        places = tuple(found.start() - _ADDED * number for number, found in enumerate(_VISIBLE.finditer(text)))
        return cls(_VISIBLE.sub(lambda found: chr(int(found[1], 16)), text), places)

    def place(self, at: int) -> int:
        """Return where a place of this text is in the text with escapes."""
        return at + _ADDED * bisect_left(self.escapes, at)
