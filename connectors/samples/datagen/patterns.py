"""Makes texts that match a simple regular expression: characters and classes of them, each with how often. Pure."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Final

_ATOM: Final = re.compile(r"\[(?P<set>(?:\\.|[^\]\\])+)\]|\\(?P<escaped>.)|(?P<plain>[^\\\[\](){}*+?|^$])", re.DOTALL)
_TIMES: Final = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}|[*+?]")
_RANGE: Final = re.compile(r"(?P<first>\\.|[^\\])(?:-(?P<last>\\.|[^\\]))?", re.DOTALL)
_CLASSES: Final = {
    "d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "s": " ",
}  # fmt: skip
_OPEN_MAX: Final = 8
"""A part of a pattern without a bound, as `a*`, is repeated so often at most."""


@dataclass(frozen=True, slots=True)
class _Part:
    characters: str
    least: int
    most: int

    def text(self, dice: random.Random) -> str:
        """Return its characters, as often as it is drawn to come. What can only be one text is not drawn."""
        count = self.least if self.least == self.most else dice.randint(self.least, self.most)
        return self.characters * count if len(self.characters) == 1 else "".join(dice.choices(self.characters, k=count))


class Pattern:
    """Makes texts of a regular expression. ValueError: it has more than characters, classes and repetitions."""

    def __init__(self, text: str) -> None:
        self._parts: list[_Part] = []
        at = 0
        while at < len(text):
            atom = _ATOM.match(text, at)
            if atom is None:
                raise ValueError(f"No text is made by {text[at:]!r}: only characters, [classes] and repetitions are")
            times = _TIMES.match(text, atom.end())
            least, most = _bounds(times)
            self._parts.append(_Part(_characters(atom), least, most))
            at = (times or atom).end()

    def text(self, dice: random.Random) -> str:
        """Return a text that matches."""
        return "".join([part.text(dice) for part in self._parts])


def _bounds(times: re.Match[str] | None) -> tuple[int, int]:
    if times is None:
        return 1, 1
    if times[1] is None:
        return {"*": (0, _OPEN_MAX), "+": (1, _OPEN_MAX), "?": (0, 1)}[times[0]]
    least = int(times[1])
    most = least if times[2] is None else int(times[3]) if times[3] else least + _OPEN_MAX
    if most < least:
        raise ValueError(f"{times[0]} ends before it begins")
    return least, most


def _characters(atom: re.Match[str]) -> str:
    if atom["set"] is None:
        return atom["plain"] or _escaped(atom["escaped"])
    if atom["set"].startswith("^"):
        raise ValueError(f"No text is made by {atom[0]!r}, which says what a character is not")
    found = []
    for part in _RANGE.finditer(atom["set"]):
        first, last = part["first"], part["last"]
        if last is None:
            found.append(_escaped(first[1:]) if len(first) > 1 else first)
        elif last[-1] < first[-1]:
            raise ValueError(f"{part[0]} ends before it begins")
        else:
            found.append("".join(map(chr, range(ord(first[-1]), ord(last[-1]) + 1))))
    return "".join(found)


def _escaped(character: str) -> str:
    """Return the characters that one behind a backslash stands for."""
    if character.isalnum() and character not in _CLASSES:
        raise ValueError(f"No text is made by '\\{character}': of such classes {', '.join(_CLASSES)} are known")
    return _CLASSES.get(character, character)
