"""A statement that writes into one table. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Write:
    """A statement and what is bound to it, but for the writetime, which stands at a place of its own among them.

    writetime_us None: the moment at which it is sent. is_row False: static values of a partition, a row that is
    deleted, or a part of a row that another statement counts for.
    """

    text: str
    values: Sequence[Any]
    writetime_at: int
    is_row: bool = True
    writetime_us: int | None = None

    def bound(self, now_us: int) -> list[Any]:
        """Return all bound values, in their order."""
        time_us = now_us if self.writetime_us is None else self.writetime_us
        return [*self.values[: self.writetime_at], time_us, *self.values[self.writetime_at :]]
