"""Chooses a mode for a table of dedup.mode=auto, and says why. What was chosen once stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.optional.costs import ModeCost
from connectors.bigquery.cost.plan import CHEAP_USD, as_set
from connectors.bigquery.dedup.side_tables import MODE_LABEL, log_table, merges_table
from connectors.bigquery.modes.auto import CHOICES
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_MERGE: Final = MergeMode.name
_COMPACT: Final = CompactMode.name


@dataclass(frozen=True, slots=True)
class Choice:
    """It names a mode, and says the reason in words."""

    mode: str
    why: str


def kept_choice(warehouse: Warehouse, table: TableFacts) -> Choice | None:
    """Return what an existing table has been so far; None where neither mode has written it."""
    label = table.labels.get(MODE_LABEL, "")
    if label in CHOICES:
        return Choice(label, f"its label {MODE_LABEL} says so")
    if warehouse.table(log_table(table.name)) is not None:
        return Choice(_COMPACT, "it has a log")
    if warehouse.table(merges_table(table.name)) is not None:
        return Choice(_MERGE, "it has been merged so far")
    return None


def new_choice(costs: Sequence[ModeCost], *, has_window: bool) -> Choice:
    """Return the mode that costs less a day as it is set; merge where that costs next to nothing."""
    by_mode = {
        mode: next(
            (cost for cost in as_set(costs, mode, keeps_first=False, has_window=has_window) if cost.is_set), None
        )
        for mode in CHOICES
    }
    merge, compact = by_mode[_MERGE], by_mode[_COMPACT]
    if merge is None or compact is None:
        return Choice(_MERGE, "it has no rows yet, and nothing is known of what will come")
    told = f"a day of merges costs about {merge.usd_per_day:,.2f} USD, of compact {compact.usd_per_day:,.2f}"
    is_cheap = merge.usd_per_day <= max(CHEAP_USD, compact.usd_per_day)
    return Choice(_MERGE if is_cheap else _COMPACT, told)
