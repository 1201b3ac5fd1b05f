"""Java's zone ids and java.util.GregorianCalendar's reading of wall clocks. Pure.

An autumn hour that comes twice means its second time, a spring hour that never was moves forward (measured on Java 17).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_LONGEST_FOLD_US = 3 * 3_600_000_000

# java.time.ZoneId.SHORT_IDS
_SHORT_IDS = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh", "EST": "Etc/GMT+5", "MST": "Etc/GMT+7",
    "HST": "Etc/GMT+10", "Z": "UTC", "GMT": "UTC", "UT": "UTC",
}  # fmt: skip


def zone(name: str) -> ZoneInfo:
    """The zone of a Java zone id. ValueError for an unknown one."""
    hours = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?00)?", name)
    if hours and int(hours[2]) <= 14:
        # POSIX counts west of Greenwich as positive.
        number = int(hours[2])
        name = f"Etc/GMT{'-' if hours[1] == '+' else '+'}{number}" if number else "UTC"
    try:
        return ZoneInfo(_SHORT_IDS.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("Unknown time zone; use a name as Europe/Berlin or a whole offset as +02:00") from None


def moment_us(value: datetime | str) -> int:
    """Microseconds since the epoch of a moment as a database tells it; without a zone it is UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND


def instant_us(wall: datetime, tz: ZoneInfo) -> int:
    """Microseconds since the epoch of a naive wall clock in `tz`."""
    first = wall.replace(tzinfo=tz, fold=0)
    second = first.replace(fold=1)
    # In a gap fold=0 uses the offset before it, which is the forward shift; in an overlap the smaller offset is later.
    later = second if second.utcoffset() < first.utcoffset() else first  # type: ignore[operator]  # tzinfo is set
    return (later - EPOCH) // MICROSECOND


def unrepeated_us(instant: int, tz: ZoneInfo) -> int:
    """The latest instant up to `instant` whose wall clock is before all wall clocks after `instant`.

    It is earlier only in an hour that comes twice, while it comes for the first time.
    """
    now = (EPOCH + timedelta(microseconds=instant)).astimezone(tz)
    low, high = instant, instant + _LONGEST_FOLD_US
    if _offset(high, tz) >= _offset(low, tz):
        return instant
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(middle, tz) < _offset(instant, tz) else (middle, high)
    repeated = wall_clock(high, tz)
    return instant_us(repeated - MICROSECOND, tz) if repeated <= now.replace(tzinfo=None) else instant


def day_begin_us(instant: int, tz: ZoneInfo) -> int:
    """When the day of an instant began in `tz`."""
    return instant_us(datetime.combine(wall_clock(instant, tz).date(), time.min), tz)


def _offset(instant: int, tz: ZoneInfo) -> timedelta:
    offset = (EPOCH + timedelta(microseconds=instant)).astimezone(tz).utcoffset()
    assert offset is not None
    return offset


def wall_clock(instant: int, tz: ZoneInfo) -> datetime:
    """The naive wall clock in `tz` at `instant` microseconds since the epoch."""
    return (EPOCH + timedelta(microseconds=instant)).astimezone(tz).replace(tzinfo=None)
