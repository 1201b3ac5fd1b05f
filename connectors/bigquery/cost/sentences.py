"""Words the costs of tables as notes of a configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from connect.api.optional.costs import ModeCost, TableCost

_TIB: Final = 2**40


def sentences(costs: Iterable[TableCost]) -> Iterator[str]:
    """Yield what a day of each mode costs, table by table."""
    for cost in costs:
        modes = "; ".join(map(_of_mode, cost.modes))
        fit = next((f" {mode.mode} fits: {mode.why}." for mode in cost.modes if mode.fits), "")
        yield f"dedup.mode: {cost.table}: {cost.facts}." + (f" A day costs about: {modes}.{fit}" if modes else "")


def _of_mode(cost: ModeCost) -> str:
    more = " and more" if cost.is_lower_bound else ""
    return f"{cost.mode} {cost.bytes_per_day / _TIB:,.2f} TiB, {cost.usd_per_day:,.2f} USD{more}"
