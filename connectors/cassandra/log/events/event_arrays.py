"""Hold events of one table as arrays of NumPy: what native code and its Python twin both make. Values only.

An entry is an event, a cell, a mark or a change of a collection; `rows` are the numbers of the events, in order.
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
"""What events are, by number; native code has the same order (change_gatherer.cpp)."""
OF_NO_ROW: Final = frozenset({"partition_delete", "range_delete"})
NONE: Final = -(2**63)
NO_TTL: Final = -(2**31)
"""Stand for null among times, and among times to live, which no mutation that is read natively has."""


class Times(NamedTuple):
    """When cells or marks were written, in microseconds; their time to live (NO_TTL), their end (NONE) in seconds."""

    writetimes_us: Ints
    ttls_s: np.ndarray[Any, np.dtype[np.int32]]
    locals_s: Ints

    def take(self, places: Ints) -> Times:
        """Return the times of some entries."""
        return Times(self.writetimes_us[places], self.ttls_s[places], self.locals_s[places])


class Marks(NamedTuple):
    """Livenesses or deletions that some events have."""

    rows: Ints
    times: Times


class Ranges(NamedTuple):
    """Ranges that were deleted.

    Behind `common` each has two entries: its bounds in the order of the table.
    """

    rows: Ints
    common: Ints
    """How many of the first clustering columns have one value at both bounds."""
    sizes: Ints
    """Each entry says of how many of the first clustering columns a bound has values."""
    are_inclusive: np.ndarray[Any, np.dtype[np.bool_]]
    """Each entry is true if the range has the rows at the bound."""
    prefixes: Sequence[Cells]
    """These are the bounds' values, by clustering column."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChanges:
    """Changes of one column: a cell each or, of a collection or a type that is not frozen, any number of cells.

    Of these `ends` says where the cells of each change end, `paths` which element each cell is of, and `cleared_us`
    until when all was removed before (NONE: nothing was).
    """

    rows: Ints
    values: Cells
    times: Times
    cleared_us: Ints
    ends: Ints
    paths: Cells


@dataclass(frozen=True, slots=True, eq=False)
class EventArrays:
    """The events of one table, which have one entry per column of the table in `keys`, `clusterings` and `columns`.

    `operations` holds their numbers.
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
    """Join values, in the form that Cassandra stores, one behind the other."""
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
