"""Holds what a mutation has: the changes of one partition key, by table. Values are as Cassandra stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from connectors.cassandra.cql.tables import Table


@dataclass(frozen=True, slots=True)
class Deletion:
    """Deletes all that was written up to `writetime_us`. `local_s` is the coordinator's time, in seconds since 1970."""

    writetime_us: int
    local_s: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """Holds the mark of an INSERT: the row exists even if all its columns are null. `expires_s` is set with a TTL."""

    writetime_us: int
    ttl_s: int | None = None
    expires_s: int | None = None


class Cell(NamedTuple):
    """Holds a value that was written, or its removal (`value` None).

    `path` names the element of a collection, or the field of a type. `local_s` is when the value expires or was
    removed, in seconds since 1970; None: it stays. Cells are tuples, as a segment has millions of them.
    """

    writetime_us: int
    value: bytes | None
    ttl_s: int | None = None
    local_s: int | None = None
    path: bytes | None = None


@dataclass(frozen=True, slots=True)
class ComplexColumn:
    """Holds changes of a collection or type with a cell per element; `deletion` removes older elements first."""

    deletion: Deletion | None
    cells: Sequence[Cell]


Clustering = tuple[bytes | None, ...]
"""It has a value for each clustering column. None is null, which old tables with compact storage may hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """Holds the changes that a mutation makes to one row."""

    clustering: Clustering
    liveness: Liveness | None
    deletion: Deletion | None
    columns: Mapping[str, Cell | ComplexColumn]


class Bound(Enum):
    """Holds the kinds of range tombstone markers by their numbers in the file (ClusteringPrefix.Kind)."""

    EXCL_END = 0
    INCL_START = 1
    EXCL_END_INCL_START = 2
    INCL_END_EXCL_START = 5
    INCL_END = 6
    EXCL_START = 7

    @property
    def is_boundary(self) -> bool:
        """Return True if the bound ends one range and begins another."""
        return self in {Bound.EXCL_END_INCL_START, Bound.INCL_END_EXCL_START}

    @property
    def is_start(self) -> bool:
        """Return True if the bound begins a range."""
        return self not in {Bound.EXCL_END, Bound.INCL_END}

    @property
    def includes_end(self) -> bool:
        """Return True if the range that ends here holds the rows at the bound."""
        return self in {Bound.INCL_END, Bound.INCL_END_EXCL_START}

    @property
    def includes_start(self) -> bool:
        """Return True if the range that begins here holds the rows at the bound."""
        return self in {Bound.INCL_START, Bound.EXCL_END_INCL_START}


@dataclass(frozen=True, slots=True)
class Marker:
    """Describes one end of a deleted range, in the table's own order of rows.

    `start` is the deletion that begins here, `end` the one that ends here. `prefix` has values of the first clustering
    columns; if it is empty, the range reaches to the partition's end.
    """

    bound: Bound
    prefix: Clustering
    end: Deletion | None
    start: Deletion | None


@dataclass(frozen=True, slots=True)
class PartitionUpdate:
    """Holds the changes that a mutation makes to one partition of one table.

    `key` is the partition key as Cassandra stores it.
    """

    table: Table
    key: bytes
    deletion: Deletion | None
    static: Row | None
    rows: Sequence[Row | Marker]
