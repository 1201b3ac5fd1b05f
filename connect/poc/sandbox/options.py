"""Holds the options of an evaluation: how much it reads, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigError
from connect.poc.sandbox.defaults import BUDGET_ROWS, CRASHES, DURATION_S, SAMPLE_ROWS
from connect.poc.sandbox.prices import Prices

SINK_RECORDS_MIN: Final = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """Tells what an evaluation may do.

    `sample_rows` are compared value by value. A run of the connector takes at most `duration_s` and `budget_rows`. Its
    tasks are killed `crashes` times. `show_values` lets the report show values of rows.
    """

    sample_rows: int = SAMPLE_ROWS
    duration_s: float = DURATION_S
    crashes: int = CRASHES
    budget_rows: int = BUDGET_ROWS
    show_values: bool = False
    seed: int | None = None
    """The moments of the kills are drawn with this seed; with None each evaluation has other moments."""
    prices: Prices = field(default_factory=Prices)

    @property
    def sink_records(self) -> int:
        """Return how many records a sink is tried with: enough to notice if one of 10,000 is dropped."""
        return min(self.budget_rows, max(self.sample_rows, SINK_RECORDS_MIN))


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Return the seconds of a length of time such as 90s, 5m or 1h. ConfigError: it is none."""
    number, unit = text[:-1], text[-1:]
    if unit not in _SECONDS or not number.replace(".", "", 1).isdigit() or not float(number):
        raise ConfigError(f"{text!r} is no length of time.", key="duration", fix="Write it as 90s, 5m or 1h.")
    return float(number) * _SECONDS[unit]
