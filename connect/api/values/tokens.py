"""Splits a text into the tokens of Java's `Values.Parser`: single delimiters, and the texts between them with their
spaces. Pure.
"""

from __future__ import annotations

import re

SPACE = "".join(map(chr, range(33)))
"""Java's `String.trim` removes these characters."""
_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|\\$|[^:,{}\[\]"\\])+', re.DOTALL)


class Tokens:
    """Reads the tokens of one text, and can go back to a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._peeked: str | None = None

    def mark(self) -> int:
        """Return the place of the next token, for `rewind`."""
        return self._at - len(self._peeked or "")

    def rewind(self, place: int) -> None:
        """Go back to a place in the text."""
        self._at, self._peeked = place, None

    def has_next(self) -> bool:
        """Tell if there is a further token, even if it is only spaces."""
        return self._peeked is not None or self._at < len(self.text)

    def next(self) -> str:
        """Return the next token."""
        token = self._peeked if self._peeked is not None else self._read()
        self._peeked = None
        return token

    def next_of(self, count: int) -> str | None:
        """Return the text of the next `count` tokens; None when there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def take(self, expected: str) -> bool:
        """Consume the next token that is not blank if it is this one."""
        if not self.has_next():
            return False
        if self._peeked is None:
            self._peeked = self._read()
        while not self._peeked.strip(SPACE) and self._at < len(self.text):
            self._peeked = self._read()
        if self._peeked.strip(SPACE) != expected:
            return False
        self._peeked = None
        return True

    def take_exactly(self, expected: str) -> bool:
        """Consume the next token if it is this one, without skipping blank ones."""
        if self.has_next() and self._peeked is None:
            self._peeked = self._read()
        if self._peeked != expected:
            return False
        self._peeked = None
        return True

    def _read(self) -> str:
        match = _TOKEN.match(self.text, self._at)
        assert match is not None
        self._at = match.end()
        return match.group()
