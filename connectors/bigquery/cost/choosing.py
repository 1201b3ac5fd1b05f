"""Chooses the mode of a table for dedup.mode=auto, and says why. A mode that was chosen once stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connect.api.optional.costs import ModeCost
from connectors.bigquery.cost.plan import CHEAP_USD, as_set
from connectors.bigquery.modes.auto import CHOICES, EMPTY, Choice, reason_of_costs
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode

_MERGE: Final = MergeMode.name
_COMPACT: Final = CompactMode.name


def new_choice(costs: Sequence[ModeCost], *, has_window: bool) -> Choice:
    """Return the mode that costs less a day with the settings of now, but merge if that costs next to nothing."""
    by_mode = {
        mode: next(
            (cost for cost in as_set(costs, mode, keeps_first=False, has_window=has_window) if cost.is_set), None
        )
        for mode in CHOICES
    }
    merge, compact = by_mode[_MERGE], by_mode[_COMPACT]
    if merge is None or compact is None:
        return Choice(_MERGE, EMPTY)
    reason = reason_of_costs(merge.usd_per_day, compact.usd_per_day)
    is_cheap = merge.usd_per_day <= max(CHEAP_USD, compact.usd_per_day)
    return Choice(_MERGE if is_cheap else _COMPACT, reason)
