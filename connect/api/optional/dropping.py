"""Says that a transform drops every row, so that rows can be dropped without a call for each run of them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class DropsEveryRow(Protocol):
    """Is what a transform offers that returns no row of any batch: a predicate says which rows it gets."""

    drops_every_row: bool
    """It is true; a transform for which it is not true has no such attribute."""
