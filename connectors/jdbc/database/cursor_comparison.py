"""Compares an instant with a timestamp column: as a date-time, or as the text or number SQLite holds. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from connect.api.errors import SchemaError
from connectors.jdbc.database.query import BoundValue
from connectors.jdbc.values.java_zones import EPOCH, wall_clock

_UTC = ZoneInfo("UTC")
_UNITS_US = {10: 86_400_000_000, 16: 60_000_000, 19: 1_000_000}
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:([ T])\d\d:\d\d(?::\d\d(\.\d{1,6})?)?)?(Z|\+00:00|)")


class TimestampForm(Protocol):
    """Turns instants into values of one column."""

    def edge(self, instant_us: int) -> BoundValue:
        """Return the values to compare the column with."""

    def before(self, instant_us: int) -> sa.ColumnElement[Any]:
        """Return the value below which the column is complete: no row that commits later can have such a value.

        A column of whole seconds gets more rows in the running second, so that this second is left for later.
        """


@dataclass(frozen=True, slots=True)
class DateTimes:
    """Compares with a column of date-times. `zone` is the zone of its wall clocks, or None if it holds instants."""

    zone: ZoneInfo | None

    def edge(self, instant_us: int) -> BoundValue:
        """Return a wall clock of the column's zone, or an aware date-time."""
        if self.zone is None:
            moment = EPOCH + timedelta(microseconds=instant_us)
            return BoundValue.at(sa.literal(moment, sa.DateTime(timezone=True)))
        return BoundValue.at(sa.literal(wall_clock(instant_us, self.zone), sa.DateTime()))

    def before(self, instant_us: int) -> sa.ColumnElement[Any]:
        """Return the instant itself."""
        return self.edge(instant_us).low


@dataclass(frozen=True, slots=True)
class EpochMilliseconds:
    """Compares with a SQLite column of whole numbers, as the Java drivers write timestamps."""

    def edge(self, instant_us: int) -> BoundValue:
        """Return the milliseconds around the instant."""
        return BoundValue(
            sa.literal(-(-instant_us // 1000), sa.BigInteger), sa.literal(instant_us // 1000, sa.BigInteger)
        )

    def before(self, instant_us: int) -> sa.ColumnElement[Any]:
        """Return the running millisecond."""
        return self.edge(instant_us).high


@dataclass(frozen=True, slots=True)
class IsoText:
    """Compares with a SQLite column of ISO text, whose order as text is the order of time.

    Without a zone at its end the text may have any number of fraction digits: the shortest form of an instant sorts
    first and the longest last. With one, every text has the same length.
    """

    separator: str
    suffix: str
    length: int
    zone: ZoneInfo

    def edge(self, instant_us: int) -> BoundValue:
        """Return the first and the last text of the instant; where the text is coarser, the texts around it."""
        wall = wall_clock(instant_us, self.zone)
        if self.suffix or self.length < 19:
            unit_us = _UNITS_US.get(self.length) or 10 ** (26 - self.length)
            return self._coarse(wall, timedelta(microseconds=unit_us))
        full = wall.isoformat(self.separator, "microseconds")
        shortest = full.rstrip("0").rstrip(".") if wall.microsecond else full[:19]
        return BoundValue(sa.literal(shortest), sa.literal(full + "000"))

    def before(self, instant_us: int) -> sa.ColumnElement[Any]:
        """Return the running second, minute or day, as the column has them; the instant itself if it has fractions."""
        if self.length in _UNITS_US:
            floor = self._coarse(wall_clock(instant_us, self.zone), timedelta(microseconds=_UNITS_US[self.length]))
            return floor.high
        return self.edge(instant_us).high if self.suffix else self.edge(instant_us).low

    def _coarse(self, wall: datetime, unit: timedelta) -> BoundValue:
        rest = (wall - datetime.min) % unit  # noqa: DTZ901 - wall clocks have no zone
        floor = wall - rest
        return BoundValue(sa.literal(self._text(floor + unit if rest else floor)), sa.literal(self._text(floor)))

    def _text(self, wall: datetime) -> str:
        return wall.isoformat(self.separator or " ", "microseconds")[: self.length] + self.suffix


def form_of_sqlite(sample: Any, column: str, zone: ZoneInfo) -> TimestampForm:
    """Return the form of a SQLite column from one of its values, or None if it has the form that SQLite's own functions
    write.
    """
    if sample is None:
        return IsoText(" ", "", 19, zone)
    if isinstance(sample, int):
        return EpochMilliseconds()
    match = _ISO.fullmatch(sample) if isinstance(sample, str) else None
    if match is None:
        kind = f"the text form {len(sample)} characters long" if isinstance(sample, str) else type(sample).__name__
        raise SchemaError(
            f"a timestamp column cannot be ordered by {kind}.",
            field=column,
            fix="Write ISO 8601 text in UTC or without a zone (2024-02-29 12:34:56.123), or epoch milliseconds.",
        )
    suffix = match[3]
    return IsoText(match[1] or "", suffix, len(sample) - len(suffix), _UTC if suffix else zone)


def now_us_of(value: Any) -> int:
    """Return the database's CURRENT_TIMESTAMP in microseconds, cut to milliseconds. Without a zone it is UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1) * 1000
