"""Holds Google's list prices, and reads the prices of a user that replace some of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from connect.api.errors import ConfigError, ConfigProblem

PAGE: Final = "https://cloud.google.com/bigquery/pricing"
AS_OF: Final = "2026-11"
"""The list prices were copied in this month from pages that quote them. `slot_hour` is for the Enterprise edition."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Holds the prices for the US in USD, as quoted at AS_OF, without the free amounts of a month. PAGE has Google's.

    `slots` are the slots of a reservation, by which queries are billed whatever they read; 0: queries run on demand.
    """

    query_tib: float = 6.25
    insert_all_gib: float = 0.05
    storage_write_gib: float = 0.025
    slot_hour: float = 0.06
    slots: float = 0.0


def prices_of(given: Mapping[str, Any]) -> Prices:
    """Return the list prices, some replaced by those given. Raise ConfigError that tells every wrong name and value."""
    known = [one.name for one in fields(Prices)]
    problems = [
        ConfigProblem("prices", f"{name!r} is no price; known are {', '.join(known)}.")
        for name in given
        if name not in known
    ]
    problems += [
        ConfigProblem("prices", f"{name} is {_shown(value)}, and a price is a number from 0 on.")
        for name, value in given.items()
        if name in known and not _is_price(value)
    ]
    if problems:
        raise ConfigError(problems)
    return replace(Prices(), **{name: float(value) for name, value in given.items()})


def prices_in(text: bytes, key: str) -> Prices:
    """Return the prices in the text of a YAML file, which `key` names. Raise ConfigError if it holds no prices."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"The prices in the file of {key} cannot be read: {_why(error)}.", key=key) from None
    if not isinstance(found, dict):
        raise ConfigError(
            f"The file of {key} holds {type(found).__name__}, no prices.",
            key=key,
            fix="Write lines such as query_tib: 6.25.",
        )
    try:
        return prices_of(found)
    except ConfigError as error:
        raise ConfigError([ConfigProblem(key, problem.message) for problem in error.problems]) from error


def list_prices_in(prices: Prices) -> str:
    """Return a sentence that names the used prices which are list prices; an empty text if none is."""
    unused = {"slots", "query_tib" if prices.slots else "slot_hour"}
    at_list = {one.name: one.default for one in fields(Prices) if one.name not in unused}
    named = ", ".join(f"{name} {price:g}" for name, price in at_list.items() if getattr(prices, name) == price)
    return named and f"List prices of the US as quoted in {AS_OF} (see {PAGE}) are taken for {named}"


def _why(error: Exception) -> str:
    """Return which line of a text is no YAML. Nothing of the text is told, as it may be another file, with secrets."""
    mark = getattr(error, "problem_mark", None)
    return "it is no YAML" if mark is None else f"its line {mark.line + 1} is no YAML"


def _shown(value: object) -> str:
    """Return the value and its type; of a list or mapping, which may be endless by aliases, the type alone."""
    kind = type(value).__name__
    return f"{value!r} ({kind})" if isinstance(value, str | int | float | None) else f"a {kind}"


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
