"""Holds events of one table as arrays of NumPy, which native code and its Python twin make alike. Values only.

An entry of an array is of an event, a cell, a mark, a range or a change. `rows` has for each entry the index of its
event, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from connectors.cassandra.cql.pages import Cells
from connectors.cassandra.log.segments.segment import Ints

OPERATIONS: Final = ("insert", "update", "delete", "static", "partition_delete", "range_delete", "snapshot")
"""Holds the kinds of events by number. Native code has the same order (change_gatherer.cpp)."""
OF_NO_ROW: Final = frozenset({"partition_delete", "range_delete"})
NONE: Final = -(2**63)
NO_TTL: Final = -(2**31)
"""NONE stands for null among times, NO_TTL among times to live. No mutation that native code reads has these."""


class Times(NamedTuple):
    """Holds when cells or marks were written, in microseconds, and in seconds their time to live and their end."""

    writetimes_us: Ints
    ttls_s: np.ndarray[Any, np.dtype[np.int32]]
    locals_s: Ints

    def take(self, places: Ints) -> Times:
        """Return the times of some entries."""
        return Times(self.writetimes_us[places], self.ttls_s[places], self.locals_s[places])


class Marks(NamedTuple):
    """Holds the liveness marks or the deletions of those events that have one."""

    rows: Ints
    times: Times


class Ranges(NamedTuple):
    """Holds the ranges that were deleted.

    `rows` and `common` have one entry for each range, the other arrays two: its bounds in the order of the table.
    """

    rows: Ints
    common: Ints
    """It counts the first clustering columns that have the same value at both bounds."""
    sizes: Ints
    """It counts the first clustering columns for which a bound has values."""
    are_inclusive: np.ndarray[Any, np.dtype[np.bool_]]
    """It is true if the rows at the bound are in the range."""
    prefixes: Sequence[Cells]
    """It holds the bounds' values, by clustering column."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChanges:
    """Holds the changes of one column: one cell each or, for a collection or type that is not frozen, any number.

    For the latter `ends` says where the cells of each change end, `paths` which element each cell belongs to, and
    `cleared_us` up to which writetime the change removed all elements first (NONE: it removed none).
    """

    rows: Ints
    values: Cells
    times: Times
    cleared_us: Ints
    ends: Ints
    paths: Cells


@dataclass(frozen=True, slots=True, eq=False)
class EventArrays:
    """Holds the events of one table. `keys`, `clusterings` and `columns` have an array for each column of the table.

    `operations` has the number of each event's kind in OPERATIONS.
    """

    operations: np.ndarray[Any, np.dtype[np.uint8]]
    writetimes_us: Ints
    ids: pa.Array
    keys: Sequence[Cells]
    clusterings: Sequence[Cells]
    columns: Sequence[ColumnChanges]
    livenesses: Marks
    deletions: Marks
    ranges: Ranges
    segments: Ints
    positions: Ints

    def __len__(self) -> int:
        return len(self.operations)


def cells_of(values: Sequence[bytes | None]) -> Cells:
    """Return values as Cassandra stores them, joined in one buffer."""
    sizes = np.fromiter((-1 if value is None else len(value) for value in values), np.int64, len(values))
    starts = np.zeros(len(values), np.int64)
    np.cumsum(np.maximum(sizes, 0)[:-1], out=starts[1:])
    return Cells(b"".join(value for value in values if value), starts, sizes)


def times_of(marks: Sequence[tuple[int, int | None, int | None]]) -> Times:
    """Return the times of marks, each given as writetime, time to live and local time."""
    writetimes, ttls, locals_s = zip(*marks, strict=True) if marks else ((), (), ())
    return Times(
        np.array(writetimes, np.int64),
        np.array([NO_TTL if ttl is None else ttl for ttl in ttls], np.int32),
        np.array([NONE if local is None else local for local in locals_s], np.int64),
    )
