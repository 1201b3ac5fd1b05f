"""Defines how a connector tells `connect poc` the types of columns in its database, and what its rows keep of them.

A source connector that can tell it offers `DescribesOrigins` beside `Connector`. A sink's trial target that knows the
types of its columns offers `DescribesColumns` beside `TrialTarget`.
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
    """The rows have every value, in a Connect type that says as much as the database's type."""
    UNTYPED = "in a type that says less"
    """The rows have every value, but as text, bytes or the like: its type in the database is lost."""
    IN_PART = "in part"
    """Some values lose something, or their rows are refused."""


@dataclass(frozen=True, slots=True)
class OriginColumn:
    """Holds one column that a source reads.

    `topic` is the topic of its rows before transforms. `field` is the path of its values in a row, with dots between
    the names. `type` is the type as the database's catalog writes it, such as `numeric(20,0)`. `lost` says in a few
    words what is lost; it is empty if nothing but the type's name is lost.
    """

    topic: str
    field: str
    type: str
    kept: Kept = Kept.TYPED
    lost: str = ""


@runtime_checkable
class DescribesOrigins(Protocol):
    """A source connector that knows the catalog of its database may offer this."""

    def origin_columns(self, deadline: Deadline) -> Iterator[OriginColumn]:
        """Yield the columns of all tables that the configuration reads; only the catalog is read for it.

        ConnectError: the catalog cannot be read.
        """


@runtime_checkable
class DescribesColumns(Protocol):
    """A trial's target that knows the types of its columns may offer this."""

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the type of each column written so far, by its path, as the target's own catalog writes it."""
