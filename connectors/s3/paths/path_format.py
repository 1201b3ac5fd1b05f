"""Formats a time as directories by a pattern of Joda-Time's letters. Pure: no clock, no zone.

Letters, their counts and quotes mean the same as in org.joda.time.format.DateTimeFormat 2.12. Only letters whose text
needs no time zone, and no language but English, are known.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import datetime

_TOKEN = re.compile(r"''|'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

_NAMES = frozenset("Ea")
_NAMED_MONTH = 3
_ANY_TIME = datetime(1970, 1, 1)  # noqa: DTZ001 - local times


def _number(of: Callable[[datetime], int]) -> Callable[[datetime, int], str]:
    return lambda at, width: str(of(at)).zfill(width)


def _year(at: datetime, width: int) -> str:
    return f"{at.year % 100:02d}" if width == 2 else str(at.year).zfill(width)


def _week_year(at: datetime, width: int) -> str:
    year = at.isocalendar().year
    return f"{year % 100:02d}" if width == 2 else str(year).zfill(width)


def _month(at: datetime, width: int) -> str:
    if width < 3:
        return str(at.month).zfill(width)
    return calendar.month_abbr[at.month] if width == 3 else calendar.month_name[at.month]


def _weekday(at: datetime, width: int) -> str:
    return calendar.day_abbr[at.weekday()] if width < 4 else calendar.day_name[at.weekday()]


def _fraction(at: datetime, width: int) -> str:
    return f"{at.microsecond:06d}"[:width].ljust(width, "0")


_LETTERS: Mapping[str, Callable[[datetime, int], str]] = {
    "y": _year,
    "Y": _year,
    "x": _week_year,
    "M": _month,
    "w": _number(lambda at: at.isocalendar().week),
    "D": _number(lambda at: at.timetuple().tm_yday),
    "d": _number(lambda at: at.day),
    "e": _number(lambda at: at.isoweekday()),
    "E": _weekday,
    "a": lambda at, _: "AM" if at.hour < 12 else "PM",
    "H": _number(lambda at: at.hour),
    "k": _number(lambda at: at.hour or 24),
    "K": _number(lambda at: at.hour % 12),
    "h": _number(lambda at: at.hour % 12 or 12),
    "m": _number(lambda at: at.minute),
    "s": _number(lambda at: at.second),
    "S": _fraction,
}


class PathFormat:
    """Formats times by a compiled pattern. ValueError: a letter is not known, or a quote is not closed.

    `has_names` is True if the text has names of months or days, which are English.
    """

    def __init__(self, pattern: str) -> None:
        self.has_names = False
        self._parts: list[Callable[[datetime], str]] = []
        position = 0
        while position < len(pattern):
            token = _TOKEN.match(pattern, position)
            if token is None:
                raise ValueError(f"A quote is not closed after {pattern[:position]!r}")
            self._parts.append(self._part(token))
            position = token.end()

    def _part(self, token: re.Match[str]) -> Callable[[datetime], str]:
        text = token.group()
        letter = token.group(2)
        if letter is None:
            quoted = token.group(1)
            plain = "'" if text == "''" else text if quoted is None else quoted.replace("''", "'")
            return lambda _: plain
        form = _LETTERS.get(letter)
        if form is None:
            raise ValueError(f"Letter {letter!r} is not known; known are {' '.join(_LETTERS)}, and text in quotes")
        width = len(text)
        self.has_names = self.has_names or letter in _NAMES or (letter == "M" and width >= _NAMED_MONTH)
        return lambda at: form(at, width)

    @property
    def constant(self) -> str:
        """Return the text of a pattern without letters."""
        return self.format(_ANY_TIME)

    def format(self, at: datetime) -> str:
        """Return the text of a local time."""
        return "".join(part(at) for part in self._parts)
