"""Declares the settings of the transforms of kafka-connect-transform-common: its keys and defaults. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Final

from connect.api.config import Config, ListOf, Long, String, between, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.lib.javatext.case_format import CASES
from connect.transforms.settings.shared import setting

_YEAR: Final = timedelta(seconds=31_556_952)
_UNITS: Final = MappingProxyType({
    "MICROS": timedelta(microseconds=1), "MILLIS": timedelta(milliseconds=1), "SECONDS": timedelta(seconds=1),
    "MINUTES": timedelta(minutes=1), "HOURS": timedelta(hours=1), "HALF_DAYS": timedelta(hours=12),
    "DAYS": timedelta(days=1), "WEEKS": timedelta(weeks=1), "MONTHS": _YEAR / 12, "YEARS": _YEAR,
    "DECADES": 10 * _YEAR,
})  # fmt: skip
"""Holds the lengths of Java's ChronoUnits; for months and years they are means."""
_MOST_YEARS: Final = 1000


class TimestampNowFieldConfig(Config):
    """Declares the settings of TimestampNowField."""

    fields: ListOf = setting("fields", doc="Fields that are set to the present time.", importance="high")
    add_amount: Annotated[Long, between(0, 100_000)] = setting(
        "add.amount", 0, doc="How many of add.chronounit are added to the present time.", importance="low"
    )
    add_unit: Annotated[String, one_of(*_UNITS)] = setting(
        "add.chronounit", "DAYS", doc="Java's name of the unit that is added.", importance="low"
    )
    target_type: Annotated[String, one_of("Date", "Unix")] = setting(
        "target.type", "Date", doc="Date: a Timestamp; Unix: whole seconds since 1970.", importance="low"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        if self.added > _MOST_YEARS * _YEAR:
            text = f"{self.add_amount} {self.add_unit} are more than {_MOST_YEARS} years. Give less."
            yield ConfigProblem("add.amount", f"Invalid value {self.add_amount} for configuration add.amount: {text}")

    @property
    def added(self) -> timedelta:
        """Return the time that is added to the present."""
        return self.add_amount * _UNITS[self.add_unit]


class ExtractTimestampConfig(Config):
    """Declares the settings of ExtractTimestamp."""

    field: Annotated[String, non_empty] = setting(
        "field.name", doc="The field: milliseconds since 1970, or a Timestamp.", importance="high",
        harmless="a name of a field",
    )  # fmt: skip


class ChangeTopicCaseConfig(Config):
    """Declares the settings of ChangeTopicCase."""

    source: Annotated[String, one_of(*CASES)] = setting(
        "from", doc="The case that topics have, by Guava's name.", importance="high"
    )
    target: Annotated[String, one_of(*CASES)] = setting(
        "to", doc="The case that they get, by Guava's name.", importance="high"
    )
