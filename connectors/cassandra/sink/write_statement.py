"""Describes a statement that writes into one table. It holds values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Write:
    """Holds a statement and its bound values; the writetime is inserted among them at index `writetime_at`.

    If `writetime_us` is None, the writetime is the moment at which the statement is sent. `is_row` is False if no row
    is to be counted: for static values, for a deletion, and for a part of a row that another statement counts.

    `is_repeatable` is False for a statement with elements of a list that is not frozen: sent twice with one writetime
    it leaves them twice, as the server gives each element a place of its own and removes older ones alone.
    """

    text: str
    values: Sequence[Any]
    writetime_at: int
    is_row: bool = True
    writetime_us: int | None = None
    is_repeatable: bool = True

    def bound(self, now_us: int) -> list[Any]:
        """Return all bound values in order, with the writetime in its place; `now_us` is the present time."""
        time_us = now_us if self.writetime_us is None else self.writetime_us
        return [*self.values[: self.writetime_at], time_us, *self.values[self.writetime_at :]]
