"""How an evaluation is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigError
from connect.evaluate.prices import Prices

SINK_RECORDS_MIN: Final = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """`sample_rows`: compared value by value. `duration_s`: of each run of the connector at most. `crashes`: kills of
    its task. `budget_rows`: rows of a run at most. `show_values`: the report shows values of rows.
    """

    sample_rows: int = 10_000
    duration_s: float = 60.0
    crashes: int = 3
    budget_rows: int = 500_000
    show_values: bool = False
    seed: int | None = None
    """Draws the moments of the kills; None: another one each time."""
    prices: Prices = field(default_factory=Prices)

    @property
    def sink_records(self) -> int:
        """Records that a sink is tried with: enough that one of 10,000 that is dropped is seen."""
        return min(self.budget_rows, max(self.sample_rows, SINK_RECORDS_MIN))


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """The seconds of a length of time such as 90s, 5m or 1h. ConfigError for anything else."""
    number, unit = text[:-1], text[-1:]
    if unit not in _SECONDS or not number.replace(".", "", 1).isdigit() or not float(number):
        raise ConfigError(f"{text!r} is no length of time.", key="duration", fix="Write it as 90s, 5m or 1h.")
    return float(number) * _SECONDS[unit]
