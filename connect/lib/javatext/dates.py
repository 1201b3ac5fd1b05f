"""Turns dates, times and moments into the texts that Java writes, in java.util's calendar and UTC. Pure."""

from __future__ import annotations

import datetime as dt

from connect.lib.javatext.calendar import DAY_MS, CivilDay, civil_day, weekday

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")


def epoch_ms(value: dt.date | dt.time) -> int:
    """Return milliseconds since the epoch: for a date its midnight, for a time that time on 1 January 1970, or for a
    moment.
    """
    if isinstance(value, dt.time):
        return _whole_ms(dt.datetime.combine(_EPOCH.date(), value.replace(tzinfo=dt.UTC)) - _EPOCH)
    if isinstance(value, dt.datetime):
        return _whole_ms((value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - _EPOCH)
    return (value.toordinal() - _EPOCH.toordinal()) * DAY_MS


def _whole_ms(since: dt.timedelta) -> int:
    return (since.days * 86400 + since.seconds) * 1000 + since.microseconds // 1000


def date_string(value: dt.date | dt.time) -> str:
    """Return the text of `java.util.Date.toString` in UTC: Thu Jan 01 00:00:00 UTC 1970."""
    days, ms = divmod(epoch_ms(value), DAY_MS)
    date = civil_day(days)
    return f"{_WEEKDAYS[weekday(days)]} {_MONTHS[date.month - 1]} {date.day:02} {_clock(ms)} UTC {_year(date)}"


def iso_string(value: dt.date | dt.time) -> str:
    """Return the ISO 8601 text in Java's calendar, in the pattern that Java's `connect.data.Values` has for the type.

    Java chooses the pattern by the number instead of the type. So there a Timestamp before 1970 or at midnight is read
    back as another type.
    """
    days, ms = divmod(epoch_ms(value), DAY_MS)
    time = f"{_clock(ms)}.{ms % 1000:03}Z"
    if isinstance(value, dt.time):
        return time
    date = civil_day(days)
    text = f"{_year(date):04}-{date.month:02}-{date.day:02}"
    return f"{text}T{time}" if isinstance(value, dt.datetime) else text


def _year(date: CivilDay) -> int:
    return date.year if date.year > 0 else 1 - date.year


def _clock(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
