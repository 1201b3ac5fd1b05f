"""Puts a connector's ledger on the day that BigQuery's clock says, and tells which clocks are wrong.

Each worker would else have days of its own: one whose clock is years ahead would move the ledger there, and no day of
the budget would begin for the others until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from connectors.bigquery.spending.ledger import DAY_S, Ledger
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_HOUR_S: Final = 3600


class LedgerDay:
    """Tells a task what the time and the day are: BigQuery's, or its worker's while no answer has told the time."""

    def __init__(self, warehouse: Warehouse, own_s: Callable[[], float], table: str) -> None:
        """Take the worker's clock in seconds since 1970, and the table that has the ledger."""
        self._warehouse = warehouse
        self._own_s = own_s
        self._table = table
        self._moved = ""
        self._moved_on = ""
        self._off = ""

    def now_s(self) -> float:
        """Return the time in seconds since 1970."""
        return self._warehouse.clock.now_s(self._own_s())

    @property
    def today(self) -> str:
        """Return the day in UTC, such as 2026-11-24."""
        return f"{datetime.fromtimestamp(self.now_s(), UTC):%Y-%m-%d}"

    @property
    def share(self) -> float:
        """Return the part of the day that has passed."""
        return self.now_s() % DAY_S / DAY_S

    def on_today(self, ledger: Ledger) -> Ledger:
        """Return the stored ledger on the day of now. Only BigQuery's clock takes it back from a later day."""
        clock, today = self._warehouse.clock, self.today
        self._note_own_clock()
        if not (clock.is_heard and ledger.is_beyond(today)):
            return ledger.at(today)
        moved = (
            f"The ledger of what jobs were billed for, the description of table {self._table}, was ahead at "
            f"{ledger.day.name}, as a worker's clock was wrong. It is {today} by BigQuery's, and what was counted "
            "there counts on this day."
        )
        if moved != self._moved:
            _log.warning("%s", moved)
        self._moved, self._moved_on = moved, today
        return ledger.brought_back(today)

    def told(self) -> Sequence[str]:
        """Return a sentence for each clock that is wrong, or was so today."""
        moved = self._moved if self._moved_on == self.today else ""
        return [told for told in (self._off, moved) if told]

    def _note_own_clock(self) -> None:
        own_s, before = self._own_s(), self._off
        off_s = own_s - self._warehouse.clock.now_s(own_s)
        self._off = ""
        if abs(off_s) >= _HOUR_S:
            self._off = (
                f"This worker's clock is {abs(off_s) / _HOUR_S:,.0f} hours {'ahead of' if off_s > 0 else 'behind'} "
                "BigQuery's, by which the day of the budget and of what was billed goes: set the worker's clock."
            )
        if self._off and not before:
            _log.warning("%s", self._off)
