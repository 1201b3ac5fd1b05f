"""Computes dates as java.util.GregorianCalendar does in UTC, lenient: Julian before 15 October 1582, weeks from Sunday.

Days are counted from 1 January 1970, years are astronomical (0 is 1 BC). Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DAY_MS: Final = 86_400_000
_CUTOVER: Final = -141_427
"""Is the day number of 15 October 1582, the first Gregorian day."""


class CivilDay(NamedTuple):
    """Holds the year, month and day of a date."""

    year: int
    month: int
    day: int


def day_number(year: int, month: int, day: int) -> int:
    """Return the day of a date whose month and day may lie outside their ranges."""
    years, month0 = divmod(month - 1, 12)
    # If a year starts in March, its leap day is the last one; from March to the end of December there are 306 days.
    shifted = year + years - (month0 < 2)
    in_year = (153 * ((month0 + 10) % 12) + 2) // 5
    julian = 365 * shifted + shifted // 4 + in_year - 719_471
    gregorian = julian + 2 - shifted // 100 + shifted // 400
    return gregorian + day if gregorian + day >= _CUTOVER else julian + day


def civil_day(number: int) -> CivilDay:
    """Return the date of a day, given by its number since 1970."""
    shifted = number + 719_470
    if number >= _CUTOVER:
        shifted -= 2
        era, rest = divmod(shifted, 146_097)
        in_era = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
        year, in_year = era * 400 + in_era, rest - (365 * in_era + in_era // 4 - in_era // 100)
    else:
        cycle, rest = divmod(shifted, 1461)
        in_cycle = min(rest // 365, 3) if rest != 1460 else 3
        year, in_year = cycle * 4 + in_cycle, rest - 365 * in_cycle
    part = (5 * in_year + 2) // 153
    month = part + 3 if part < 10 else part - 9
    return CivilDay(year + (month <= 2), month, in_year - (153 * part + 2) // 5 + 1)


def day_of_year(number: int) -> int:
    """Return the number of a day within its year, from 1 on."""
    return number - day_number(civil_day(number).year, 1, 1) + 1


def weekday(number: int) -> int:
    """Return the day of the week, 0 for Sunday to 6 for Saturday."""
    return (number + 4) % 7


def week_of(number: int) -> tuple[int, int]:
    """Return the week-year and the week of a day; the week of 1 January is week 1."""
    year = civil_day(number).year
    saturday = number + 6 - weekday(number)
    if civil_day(saturday).year > year:
        return year + 1, 1
    return year, (number - _week_start(day_number(year, 1, 1))) // 7 + 1


def week_of_month(number: int) -> int:
    """Return the week of a day in its month; the week of the month's first day is week 1."""
    date = civil_day(number)
    return (number - _week_start(day_number(date.year, date.month, 1))) // 7 + 1


def day_of_week(first: int, week: int, day: int) -> int:
    """Return a day of a week, both given by number: week 1 is the week of the day `first`. `day` is 0 for Sunday, and
    may be more than 6.
    """
    return _week_start(first) + 7 * (week - 1) + day


def _week_start(number: int) -> int:
    return number - weekday(number)
