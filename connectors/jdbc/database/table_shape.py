"""Holds one table as reading needs it: columns, key and indexes. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from connectors.jdbc.values.types import ColumnPlan, Projection, Raw


@dataclass(frozen=True, slots=True)
class TableShape:
    """Describes one table as reading needs it.

    `key` names the columns that name one row and are never null, or is empty if there are no such columns. `row_id` is
    SQLite's hidden key, by a name that no column hides. `indexes` has the columns of each index in order, the primary
    key's first. With `has_xmin` it is a table of PostgreSQL, whose rows name the transaction that wrote them. `primary`
    is the primary key, with columns of any kind; `unique` is the first index by name that can replace it.
    """

    columns: tuple[ColumnPlan, ...]
    not_null: frozenset[str]
    key: tuple[str, ...] = ()
    row_id: str | None = None
    auto_increment: str | None = None
    indexes: tuple[tuple[str, ...], ...] = ()
    has_xmin: bool = False
    primary: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()

    def find(self, name: str) -> ColumnPlan | None:
        """Return a column by its name, exact or else without case."""
        exact = (c for c in self.columns if c.name == name)
        return next(exact, None) or next((c for c in self.columns if c.name.lower() == name.lower()), None)

    def keyed_by(self, primary: tuple[str, ...]) -> TableShape:
        """Return the shape with the primary key as its key, or without a key.

        A key is of integers and texts that are never NULL: a reader can go on behind the last value that it has read.
        """
        usable = {c.name for c in self.columns if c.raw in {Raw.INTEGER, Raw.TEXT} and c.projection is Projection.AS_IS}
        return replace(self, key=primary if primary and set(primary) <= usable & self.not_null else ())
