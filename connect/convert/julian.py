"""java.util's calendar: Gregorian from 15 October 1582, Julian before, in UTC. Pure."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

_DAY_MS = 86_400_000
_FIRST_GREGORIAN_DAY = dt.date(1582, 10, 15).toordinal() - dt.date(1970, 1, 1).toordinal()
_EPOCH_JULIAN_DAY = 2_440_588
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")


class CalendarDate(NamedTuple):
    """A date of Java's calendar; year 0 is 1 BC."""

    year: int
    month: int
    day: int


def calendar_date(days: int) -> CalendarDate:
    """The date of a day counted from the epoch."""
    # Fliegel and Van Flandern; the century correction is Gregorian only.
    number = days + _EPOCH_JULIAN_DAY
    shifted = number + 1401
    if days >= _FIRST_GREGORIAN_DAY:
        shifted += (4 * number + 274277) // 146097 * 3 // 4 - 38
    whole = 4 * shifted + 3
    part = 5 * (whole % 1461 // 4) + 2
    month = (part // 153 + 2) % 12 + 1
    return CalendarDate(whole // 1461 - 4716 + (14 - month) // 12, month, part % 153 // 5 + 1)


def epoch_ms(value: dt.date | dt.time) -> int:
    """Milliseconds since the epoch of a date (its midnight), a time (on the first day) or a moment."""
    if isinstance(value, dt.time):
        return _whole_ms(dt.datetime.combine(_EPOCH.date(), value.replace(tzinfo=dt.UTC)) - _EPOCH)
    if isinstance(value, dt.datetime):
        return _whole_ms((value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - _EPOCH)
    return (value.toordinal() - _EPOCH.toordinal()) * _DAY_MS


def _whole_ms(since: dt.timedelta) -> int:
    return (since.days * 86400 + since.seconds) * 1000 + since.microseconds // 1000


def date_string(value: dt.date | dt.time) -> str:
    """`java.util.Date.toString` in UTC: Thu Jan 01 00:00:00 UTC 1970."""
    days, ms = divmod(epoch_ms(value), _DAY_MS)
    date = calendar_date(days)
    return f"{_WEEKDAYS[(days + 4) % 7]} {_MONTHS[date.month - 1]} {date.day:02} {_clock(ms)} UTC {_year(date)}"


def iso_string(value: dt.date | dt.time) -> str:
    """The ISO 8601 text of each type, in Java's calendar: `SimpleDateFormat` patterns of `connect.data.Values`.

    Java picks the pattern by the number instead, so that a Timestamp of 1969 or at midnight reads back as another type.
    """
    days, ms = divmod(epoch_ms(value), _DAY_MS)
    time = f"{_clock(ms)}.{ms % 1000:03}Z"
    if isinstance(value, dt.time):
        return time
    date = calendar_date(days)
    text = f"{_year(date):04}-{date.month:02}-{date.day:02}"
    return f"{text}T{time}" if isinstance(value, dt.datetime) else text


def epoch_day(year: int, month: int, day: int) -> int:
    """The day counted from the epoch of a date in Java's calendar; month and day may overflow (lenient)."""
    years, month0 = divmod(month - 1, 12)
    shifted_year = year + years - (month0 < 2)
    in_year = (153 * ((month0 + 10) % 12) + 2) // 5 + day - 1
    julian = 365 * shifted_year + shifted_year // 4 + in_year - 719470
    gregorian = julian + 2 - shifted_year // 100 + shifted_year // 400
    return gregorian if gregorian >= _FIRST_GREGORIAN_DAY else julian


def _year(date: CalendarDate) -> int:
    return date.year if date.year > 0 else 1 - date.year


def _clock(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
