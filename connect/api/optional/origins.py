"""What the columns of a source are in its own database, and what of their values its rows keep, for `connect poc`.

A source connector that can say so offers `DescribesOrigins` beside `Connector`; a sink's target that can say what its
columns are offers `DescribesColumns` beside `TrialTarget`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


class Kept(StrEnum):
    """Tells what a column's values become in the connector's rows."""

    TYPED = "with its type"
    """Every value, in a Connect type that says as much as the database's own."""
    UNTYPED = "in a type that says less"
    """Every value, as text, bytes or the like: what it was is known no more."""
    IN_PART = "in part"
    """Some values lose something, or their rows are refused."""


@dataclass(frozen=True, slots=True)
class OriginColumn:
    """One column of what a source reads.

    topic: where its rows go before transforms. field: where its values are in a row, with dots between the names.
    type: as the database's own catalog writes it, such as `numeric(20,0)`. lost: what is lost, in a few words; empty:
    nothing but the type's name.
    """

    topic: str
    field: str
    type: str
    kept: Kept = Kept.TYPED
    lost: str = ""


@runtime_checkable
class DescribesOrigins(Protocol):
    """A source connector that knows the catalog of its database. Optional."""

    def origin_columns(self, deadline: Deadline) -> Iterator[OriginColumn]:
        """Yield the columns of all that the configuration reads, by reading the catalog alone.

        ConnectError: it cannot.
        """


@runtime_checkable
class DescribesColumns(Protocol):
    """A trial's target that knows the types of its columns. Optional."""

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the type of each column written so far, by its path, as the target's own catalog writes it."""
