"""Declares the settings that limit what merges may cost a day. Values only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import ConnectorConfig, Double, Long, String, at_least, key
from connect.api.reach import Reach

BUDGET: Final = "Budget"
BUDGET_BYTES_KEY: Final = "bigquery.budget.bytes.per.day"
BUDGET_USD_KEY: Final = "bigquery.budget.usd.per.day"


def _check_money(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("Give an amount of USD such as 5 or 0.5; 0 is no limit")
    return value


class BudgetSettings(ConnectorConfig):
    """`bigquery.budget.*`, and the prices by which money becomes bytes."""

    budget_bytes: Annotated[Long, at_least(0)] = key(
        BUDGET_BYTES_KEY, 0,
        doc="Merges and compactions of all tasks together are billed for at most so many bytes in a day of UTC: they "
        "come further apart, and rows wait meanwhile; 0: no limit.", group=BUDGET,
    )  # fmt: skip
    budget_usd: Annotated[Double, at_least(0.0), AfterValidator(_check_money)] = key(
        BUDGET_USD_KEY, 0.0,
        doc="The same in money, by the price query_tib; 0: no limit. The lower one counts where both are set.",
        group=BUDGET,
    )  # fmt: skip
    prices_file: String = key(
        "bigquery.prices.file", "", reach=Reach.FILE,
        doc="A YAML file of your own prices on the worker, as for connect bigquery plan --prices; empty: list prices.",
        group=BUDGET,
    )  # fmt: skip

    @property
    def has_budget(self) -> bool:
        """Return True if merges are bounded."""
        return bool(self.budget_bytes or self.budget_usd)

    def price_files(self) -> Iterable[tuple[str, str]]:
        """Return the key and path of the file of prices, where one is named."""
        return (("bigquery.prices.file", self.prices_file),) if self.prices_file else ()
