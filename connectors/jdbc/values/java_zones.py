"""Reads Java's zone ids, and converts wall clocks to instants as java.util.GregorianCalendar does. Pure.

A wall clock in an autumn hour that comes twice means the second time; one in a spring hour that is skipped moves
forward (measured on Java 17).
"""

from __future__ import annotations

import io
import re
import struct
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from connect.lib.setting_text import named_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_LONGEST_FOLD_US = 3 * 3_600_000_000
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d)(?::?(\d\d))?)?")
_HOURS_WITH_NAMES = 12
_MOST_S = 18 * 3600

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
    """Return the zone of a Java zone id: a name, a short id or an offset. ValueError for an unknown one."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        hours, minutes, seconds = (int(part or 0) for part in offset.group(2, 3, 4))
        if minutes or seconds or hours > _HOURS_WITH_NAMES:
            return _fixed_zone(offset[1], hours, minutes, seconds)
        # POSIX counts west of Greenwich as positive.
        name = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{hours}" if hours else "UTC"
    try:
        return named_zone(_SHORT_IDS.get(name, name))
    except ValueError:
        raise ValueError("Unknown time zone; use a name as Europe/Berlin or an offset as +05:30") from None


def _fixed_zone(sign: str, hours: int, minutes: int, seconds: int) -> ZoneInfo:
    offset_s = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or offset_s > _MOST_S:
        raise ValueError("An offset is at most 18 hours, of at most 59 minutes and seconds")
    key = f"{sign}{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")
    # A file of time zones with one type of local time and no transition (RFC 9636).
    head = struct.pack(">4s16x6L", b"TZif", 0, 0, 0, 0, 1, 4)
    body = struct.pack(">lBB4s", offset_s if sign == "+" else -offset_s, 0, 0, b"-00")
    return ZoneInfo.from_file(io.BytesIO(head + body), key)


def fixed_us(tz: ZoneInfo) -> int | None:
    """Return how many microseconds a zone with a fixed offset is ahead of UTC.

    Return None if its rules have to be asked.
    """
    if tz.key == "UTC":
        return 0
    offset = tz.utcoffset(EPOCH.replace(tzinfo=None)) if tz.key.startswith(("+", "-")) else None
    return None if offset is None else offset // MICROSECOND


def moment_us(value: datetime | str) -> int:
    """Return a moment as a database tells it in microseconds since the epoch; without a zone it is UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND


def instant_us(wall: datetime, tz: ZoneInfo) -> int:
    """Return the microseconds since the epoch of a naive wall clock in `tz`."""
    first = wall.replace(tzinfo=tz, fold=0)
    second = first.replace(fold=1)
    # In a gap fold=0 uses the offset from before the gap, which moves the clock forward. In an overlap the smaller
    # offset gives the later instant.
    later = second if second.utcoffset() < first.utcoffset() else first  # type: ignore[operator]  # tzinfo is set
    return (later - EPOCH) // MICROSECOND


def unrepeated_us(instant: int, tz: ZoneInfo) -> int:
    """Return the latest instant up to `instant` whose wall clock is before all wall clocks after `instant`.

    It is earlier only in an hour that comes twice, while it comes for the first time.
    """
    now = (EPOCH + timedelta(microseconds=instant)).astimezone(tz)
    low, high = instant, instant + _LONGEST_FOLD_US
    if offset_us(high, tz) >= offset_us(low, tz):
        return instant
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if offset_us(middle, tz) < offset_us(instant, tz) else (middle, high)
    repeated = wall_clock(high, tz)
    return instant_us(repeated - MICROSECOND, tz) if repeated <= now.replace(tzinfo=None) else instant


def day_begin_us(instant: int, tz: ZoneInfo) -> int:
    """Return when the day of an instant began in `tz`, in microseconds since the epoch."""
    return instant_us(datetime.combine(wall_clock(instant, tz).date(), time.min), tz)


def offset_us(instant: int, tz: ZoneInfo) -> int:
    """Return how many microseconds `tz` is ahead of UTC at `instant`, in microseconds since the epoch."""
    offset = (EPOCH + timedelta(microseconds=instant)).astimezone(tz).utcoffset()
    assert offset is not None
    return offset // MICROSECOND


def wall_clock(instant: int, tz: ZoneInfo) -> datetime:
    """Return the naive wall clock in `tz` at `instant` microseconds since the epoch."""
    return (EPOCH + timedelta(microseconds=instant)).astimezone(tz).replace(tzinfo=None)
