"""Reads the budget and the prices of a configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConfigError
from connectors.bigquery.cost.prices import Prices, prices_in
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.config_budget import BUDGET_BYTES_KEY, BUDGET_USD_KEY

_TIB: Final = 2**40


def prices_of_config(config: BigQuerySinkConfig) -> Prices:
    """Return the prices in the file that the settings name, or list prices. Raise ConfigError if it is unreadable."""
    for key, path in config.price_files():
        try:
            text = config.allowed.read_bytes(key, path)
        except OSError as error:
            raise ConfigError(
                f"The file {path} of {key} cannot be read on this worker ({error.strerror}).",
                key=key,
                fix="Put the prices there, readable for the worker, or leave it out for list prices.",
            ) from error
        return prices_in(text, key)
    return Prices()


def budget_of(config: BigQuerySinkConfig, prices: Prices) -> int | None:
    """Return the bytes that merges may be billed for in a day; None: there is no limit.

    Raise ConfigError if the budget is in USD and queries are not billed by bytes.
    """
    return min(_limits(config, prices).values(), default=None)


def budget_key_of(config: BigQuerySinkConfig, prices: Prices) -> str:
    """Return the key of the budget that is the lowest, which messages name."""
    limits = _limits(config, prices)
    return min(limits, key=lambda key: limits[key], default=BUDGET_BYTES_KEY)


def _limits(config: BigQuerySinkConfig, prices: Prices) -> Mapping[str, int]:
    """Return the limits in bytes a day, by the key that sets each."""
    limits = {BUDGET_BYTES_KEY: config.budget_bytes} if config.budget_bytes else {}
    if config.budget_usd:
        if prices.slots or not prices.query_tib:
            why = "slots are paid whatever is read" if prices.slots else "a query_tib of 0 is free"
            raise ConfigError(
                f"{BUDGET_USD_KEY} buys no bytes by these prices: {why}.",
                key=BUDGET_USD_KEY,
                fix=f"Set {BUDGET_BYTES_KEY}, or a price query_tib and no slots.",
            )
        limits[BUDGET_USD_KEY] = math.floor(config.budget_usd / prices.query_tib * _TIB)
    return limits
