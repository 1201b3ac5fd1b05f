"""Holds the prices of hours and gigabytes: rounded list prices, or the user's own from a YAML file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from connect.api.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Prices:
    """Holds prices in one currency.

    The defaults are round figures in the range of public clouds; no provider has exactly these.
    """

    currency: str = "USD"
    kafka_gb_month: float = 0.10
    target_gb_month: float = 0.023
    core_hour: float = 0.05


def read_prices(file: Path) -> Prices:
    """Read prices from a YAML file. Prices that it does not name have their defaults. ConfigError: the file is
    wrong.
    """
    known = ", ".join(asdict(Prices()))
    try:
        return _prices(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise ConfigError(
            f"The prices in {file} cannot be used: {error}.",
            key="prices",
            fix=f"Write lines such as kafka_gb_month: 0.10; known are {known}.",
        ) from error


def _prices(found: Any) -> Prices:
    given = dict(found)
    currency = str(given.pop("currency", Prices().currency))
    numbers = {str(key): float(value) for key, value in given.items()}
    if any(not 0 <= value < float("inf") for value in numbers.values()):
        raise ValueError("a price is negative or no number")
    return replace(Prices(), currency=currency, **numbers)
