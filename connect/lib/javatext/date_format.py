"""Reads and writes moments as a lenient `java.text.SimpleDateFormat` does in UTC with English names. Pure.

The caller gives the current year. Known letters are G y Y M L w W D d F E u a H k K h m s S z Z X. A pattern with
another letter, or with a quote that stays open, is a ValueError with Java's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from connect.lib.javatext.calendar import (
    DAY_MS,
    civil_day,
    day_of_year,
    week_of,
    week_of_month,
    weekday,
)
from connect.lib.javatext.date_parse import ParsePlan

LETTERS: Final = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_HOUR_MS, _MINUTE_MS, _SECOND_MS = 3_600_000, 60_000, 1000
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", re.DOTALL)
_STRFTIME: Mapping[tuple[str, int], str] = MappingProxyType(
    {("y", 4): "%Y", ("M", 2): "%m", ("d", 2): "%d", ("H", 2): "%H", ("m", 2): "%M", ("s", 2): "%S"}
)
_STEPS: Mapping[str, int] = MappingProxyType(
    {"S": 1, "s": _SECOND_MS, "m": _MINUTE_MS} | dict.fromkeys("HkKh", _HOUR_MS) | {"a": 12 * _HOUR_MS}
)


@dataclass(frozen=True, slots=True)
class PatternPart:
    """Holds a piece of a pattern: a letter and how often it stands there, or a literal text."""

    letter: str
    count: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Moment:
    """Holds a moment as the number of its day since 1970 and the milliseconds within the day."""

    day: int
    ms: int


class DateFormat:
    """Reads and writes moments by a pattern, as milliseconds since the epoch."""

    def __init__(self, pattern: str, this_year: int) -> None:
        """Take a pattern. `this_year` tells the century of years of two digits: 80 years back to 19 years ahead."""
        self.pattern = pattern
        self._parts = split_pattern(pattern)
        self._plan = ParsePlan(
            [(part.letter, part.count, part.text) for part in self._parts], MONTHS, WEEKDAYS, first_year=this_year - 80
        )

    @property
    def step_ms(self) -> int:
        """Return the length of a step in ms: all moments of a step, counted from the epoch, have the same text."""
        return min((_STEPS.get(part.letter, DAY_MS) for part in self._parts), default=DAY_MS)

    @property
    def strftime(self) -> str | None:
        """Return a pattern with the same meaning for Arrow's strftime; None if there is none.

        It holds for moments of whole seconds from 1970 to 9999.
        """
        made = ""
        for part in self._parts:
            step = _STRFTIME.get((part.letter, part.count)) if part.letter else part.text.replace("%", "%%")
            if step is None:
                return None
            made += step
        return made

    def format(self, ms: int) -> str:
        """Return the text of a moment, which is given in milliseconds since the epoch."""
        moment = _Moment(*divmod(ms, DAY_MS))
        return "".join(_WRITERS[part.letter](moment, part.count) if part.letter else part.text for part in self._parts)

    def parse(self, text: str) -> int:
        """Return the moment of a text; characters behind what was read are ignored. ValueError: the text does not
        match.
        """
        return self._plan.parse(text)


def split_pattern(pattern: str) -> list[PatternPart]:
    """Return the pieces of a pattern. ValueError, with Java's text: the pattern is not valid."""
    parts = []
    for found in _PARTS.finditer(pattern):
        piece = found.group()
        if piece == "'":
            raise ValueError("Unterminated quote")
        if found.group(2):
            parts.append(_field(piece))
        elif found.group(1) is not None:
            parts.append(PatternPart("", 0, found.group(1).replace("''", "'") or "'"))
        else:
            parts.append(PatternPart("", 0, piece))
    return parts


def _field(piece: str) -> PatternPart:
    letter = piece[0]
    if letter not in LETTERS:
        raise ValueError(f"Illegal pattern character '{letter}'")
    if letter == "X" and len(piece) > 3:
        raise ValueError(f"invalid ISO 8601 format: length={len(piece)}")
    return PatternPart(letter, len(piece))


def _number(value: int, count: int) -> str:
    return f"{value:0{count + (value < 0)}}"


def _year(moment: _Moment, count: int) -> str:
    year = civil_day(moment.day).year
    year = year if year > 0 else 1 - year
    return _number(year % 100, 2) if count == 2 else _number(year, count)


def _week_year(moment: _Moment, count: int) -> str:
    year = week_of(moment.day)[0]
    return _number(year % 100, 2) if count == 2 else _number(year, count)


def _month(moment: _Moment, count: int) -> str:
    month = civil_day(moment.day).month
    return _number(month, count) if count < 3 else _name(MONTHS[month - 1], count)


def _name(name: str, count: int) -> str:
    return name if count > 3 else name[:3]


def _zone(_: _Moment, count: int) -> str:
    return "Coordinated Universal Time" if count > 3 else "UTC"


def _hour(moment: _Moment) -> int:
    return moment.ms // _HOUR_MS


_WRITERS: Mapping[str, Callable[[_Moment, int], str]] = MappingProxyType(
    {
        "G": lambda m, _: "AD" if civil_day(m.day).year > 0 else "BC",
        "y": _year,
        "Y": _week_year,
        "M": _month,
        "L": _month,
        "w": lambda m, n: _number(week_of(m.day)[1], n),
        "W": lambda m, n: _number(week_of_month(m.day), n),
        "D": lambda m, n: _number(day_of_year(m.day), n),
        "d": lambda m, n: _number(civil_day(m.day).day, n),
        "F": lambda m, n: _number((civil_day(m.day).day - 1) // 7 + 1, n),
        "E": lambda m, n: _name(WEEKDAYS[weekday(m.day)], n),
        "u": lambda m, n: _number(weekday(m.day) or 7, n),
        "a": lambda m, _: "AM" if _hour(m) < 12 else "PM",
        "H": lambda m, n: _number(_hour(m), n),
        "k": lambda m, n: _number(_hour(m) or 24, n),
        "K": lambda m, n: _number(_hour(m) % 12, n),
        "h": lambda m, n: _number(_hour(m) % 12 or 12, n),
        "m": lambda m, n: _number(m.ms // _MINUTE_MS % 60, n),
        "s": lambda m, n: _number(m.ms // _SECOND_MS % 60, n),
        "S": lambda m, n: _number(m.ms % 1000, n),
        "z": _zone,
        "Z": lambda _m, _n: "+0000",
        "X": lambda _m, _n: "Z",
    }
)
