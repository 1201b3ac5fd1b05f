"""Reads a text by a SimpleDateFormat pattern, as leniently as Java does, in UTC. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from connect.lib.javatext.calendar import DAY_MS, day_number, day_of_week, week_of
from connect.lib.javatext.numbers import wrapped

_NUMERIC = frozenset("yYMLwWDdFuHkKhmsS")
_NUMBER = re.compile(r"-?\d+")
_DIGITS = 200
"""At most this many digits of a number are read: further ones change no result."""
_DATE_CHOICES = "dDWFw"
"""Each of these letters decides the day; the one that was read last counts."""
_RFC_ZONE = re.compile(r"([+-])(\d{2})(\d{2})")
_BEHIND_GMT = re.compile(r"([+-])(\d{1,2}):(\d{2})")
_ISO_ZONES = (
    re.compile(r"([+-])(\d{2})"),
    re.compile(r"([+-])(\d{2})(\d{2})"),
    re.compile(r"([+-])(\d{2}):(\d{2})"),
)
_ZONE_HOURS: Final = {
    "UTC": 0, "GMT": 0, "UT": 0, "WET": 0, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AKST": -9, "AKDT": -8, "HST": -10, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
"""Holds abbreviations of zones with their hours from UTC."""
_ZONE_NAME = re.compile(r"[A-Za-z]+")
_HALF_DAYS = ("AM", "PM")
_ERAS = ("BC", "AD")


class ParsePlan:
    """Holds a pattern's pieces in the order in which they are read. It is immutable; threads may share it."""

    def __init__(
        self,
        parts: Sequence[tuple[str, int, str]],
        months: Sequence[str],
        weekdays: Sequence[str],
        *,
        first_year: int,
    ) -> None:
        """Take the parts of a pattern, each as a letter, how often it stands there, and the text of a part without a
        letter.
        """
        self._parts = parts
        self._months = [*months, *(name[:3] for name in months)]
        self._weekdays = [*weekdays, *(name[:3] for name in weekdays)]
        self._first_year = first_year

    def parse(self, text: str) -> int:
        """Return the text's moment in milliseconds since the epoch. ValueError: the text does not match."""
        reader = _Reader(text)
        for i, (letter, count, literal) in enumerate(self._parts):
            if not letter:
                reader.literal(literal)
                continue
            reader.skip_blanks()
            adjacent = i + 1 < len(self._parts) and bool(self._parts[i + 1][0])
            self._read(reader, letter, count, adjacent=adjacent)
        return _moment(reader)

    def _read(self, reader: _Reader, letter: str, count: int, *, adjacent: bool) -> None:
        if letter in "ML" and count > 2:
            reader.put("M", reader.name(self._months) % 12 + 1)
        elif letter == "E":
            reader.put("u", reader.name(self._weekdays) % 7 or 7)
        elif letter == "a":
            reader.put("a", reader.name(_HALF_DAYS))
        elif letter == "G":
            reader.put("G", reader.name(_ERAS))
        elif letter in "zZ":
            reader.zone()
        elif letter == "X":
            reader.iso_zone(count)
        else:
            start = reader.at
            number = reader.number(count if adjacent else None)
            if letter in "yY" and count <= 2 and reader.at - start == 2 and number >= 0:
                number = self._full_year(number)
            reader.put("M" if letter == "L" else letter, number)

    def _full_year(self, two_digits: int) -> int:
        year = self._first_year // 100 * 100 + two_digits
        return year if year >= self._first_year else year + 100


class _Reader:
    """Holds a place in a text, and the fields that were read so far in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.fields: dict[str, int] = {}
        self.offset_ms = 0

    def put(self, letter: str, value: int) -> None:
        self.fields.pop(letter, None)
        self.fields[letter] = value

    def literal(self, literal: str) -> None:
        if not self._text.startswith(literal, self.at):
            raise ValueError(self._text)
        self.at += len(literal)

    def skip_blanks(self) -> None:
        while self.at < len(self._text) and self._text[self.at] in " \t":
            self.at += 1
        if self.at >= len(self._text):
            raise ValueError(self._text)

    def number(self, width: int | None) -> int:
        end = len(self._text) if width is None else self.at + width
        found = _NUMBER.match(self._text, self.at, end)
        if end > len(self._text) or found is None:
            raise ValueError(self._text)
        self.at = found.end()
        # Java's `Number.intValue` gives the low bits of a long, and the nearest limit for a number beyond it.
        number = int(found.group()[:_DIGITS])
        inside = -(2**63) <= number < 2**63
        return wrapped(number, 32) if inside else max(-(2**31), min(2**31 - 1, number))

    def name(self, names: Sequence[str]) -> int:
        """Read the longest of the names that stands here, in any case of letters, and return its place in `names`."""
        rest = self._text[self.at :].lower()
        fitting = [i for i, name in enumerate(names) if rest.startswith(name.lower())]
        if not fitting:
            raise ValueError(self._text)
        best = max(fitting, key=lambda i: len(names[i]))
        self.at += len(names[best])
        return best

    def zone(self) -> None:
        name = _ZONE_NAME.match(self._text, self.at)
        if name is not None:
            hours = _ZONE_HOURS.get(name.group().upper())
            if hours is None:
                raise ValueError(self._text)
            self.at = name.end()
            self.offset_ms = hours * 3_600_000
            if name.group().upper() != "GMT" or self._text[self.at : self.at + 1] not in {"+", "-"}:
                return
        self._signed(_RFC_ZONE if name is None else _BEHIND_GMT)

    def iso_zone(self, count: int) -> None:
        if self._text[self.at] == "Z":
            self.at += 1
            return
        self._signed(_ISO_ZONES[count - 1])

    def _signed(self, form: re.Pattern[str]) -> None:
        found = form.match(self._text, self.at)
        if found is None:
            raise ValueError(self._text)
        sign, *numbers = [group for group in found.groups() if group is not None]
        hours, minutes = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0
        if hours > 23 or minutes > 59:
            raise ValueError(self._text)
        self.at = found.end()
        self.offset_ms = (hours * 60 + minutes) * (60_000 if sign == "+" else -60_000)


def _moment(reader: _Reader) -> int:
    fields = reader.fields
    hour = fields.get("K", fields.get("h", 0) % 12 if fields.get("h") == 12 else fields.get("h", 0))
    hour += 12 * fields.get("a", 0)
    if "H" in fields or "k" in fields:
        hour = fields.get("H", 0 if fields.get("k") == 24 else fields.get("k", 0))
    minutes = hour * 60 + fields.get("m", 0)
    in_day = (minutes * 60 + fields.get("s", 0)) * 1000 + fields.get("S", 0)
    return _day(fields) * DAY_MS + in_day - reader.offset_ms


def _day(fields: dict[str, int]) -> int:
    year = fields.get("Y", fields.get("y", 1970))
    if fields.get("G") == 0:
        year = 1 - year
    deciding = next((letter for letter in reversed(fields) if letter in _DATE_CHOICES), "")
    first = day_number(year, fields.get("M", 1), 1)
    day_of_the_week = fields.get("u", 7)
    match deciding:
        case "D":
            return day_number(year, 1, 1) + fields["D"] - 1
        case "W":
            return day_of_week(first, fields["W"], day_of_the_week % 7 if day_of_the_week <= 7 else day_of_the_week)
        case "F":
            return _nth_weekday(year, fields.get("M", 1), day_of_the_week, fields["F"])
        case "w":
            return _week_day(year, fields["w"], day_of_the_week)
        case "d":
            return first + fields["d"] - 1
    if "Y" in fields:
        return _week_day(year, 1, day_of_the_week)
    return _nth_weekday(year, fields.get("M", 1), day_of_the_week, 1) if "u" in fields else first


def _nth_weekday(year: int, month: int, day: int, nth: int) -> int:
    """Return the nth such day of the week in a month; a negative n counts from the month's end."""
    weekday = day % 7 if 1 <= day <= 7 else (day - 1) % 7
    last = day_number(year, month + (nth < 0), 1) + 7 * (nth + (nth < 0)) - 1
    return last - ((last + 4) % 7 - weekday) % 7


def _week_day(year: int, week: int, day: int) -> int:
    first = day_number(year, 1, 1)
    assert week_of(first)[1] == 1
    return day_of_week(first, week, day % 7 if day <= 7 else day)
