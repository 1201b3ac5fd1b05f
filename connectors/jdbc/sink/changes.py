"""Finds what a batch does to a table: which rows it deletes, and which it writes. Pure.

The result has to be the same as if the records came one by one. All rows of a batch have the same columns. So among the
rows with the same key only the last one counts, and only if it comes after the key's last delete.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc


class Changes(NamedTuple):
    """Holds the numbers of rows in ascending order: those whose keys are deleted first, and those that are then
    written.
    """

    deleted: pa.Array
    written: pa.Array


def changes_of(keys: pa.Table, tombstones: pa.Array, *, is_keyed: bool) -> Changes:
    """Return what rows with these keys do. With `is_keyed` a row that is written replaces the row with its key."""
    numbers = pa.array(range(len(tombstones)), pa.int64())
    deletes = numbers.filter(tombstones)
    if not (is_keyed or len(deletes)):
        return Changes(deletes, numbers)
    if not keys.num_columns:
        return Changes(deletes, numbers[-1:])  # each row changes all of the table
    names = [f"key_{i}" for i in range(keys.num_columns)]
    rows = keys.rename_columns(names).append_column("number", numbers)
    deleted = _last(rows.take(deletes), names)
    if len(deletes):
        rows = rows.filter(pc.invert(tombstones)).join(deleted, names)
        is_behind = pc.greater(rows["number"], pc.fill_null(rows["number_max"], -1))
        rows = rows.filter(is_behind)
    if not is_keyed:
        return Changes(_sorted(deleted["number_max"]), _sorted(rows["number"]))
    # SQL finds no row by a key with NULL in it, so such a row replaces none, nor is it replaced.
    is_whole = reduce(pc.and_, (pc.is_valid(rows[name]) for name in names))
    written = [_last(rows.filter(is_whole), names)["number_max"], rows.filter(pc.invert(is_whole))["number"]]
    return Changes(_sorted(deleted["number_max"]), _sorted(pa.chunked_array(one.combine_chunks() for one in written)))


def writes_before_delete(tombstones: pa.Array) -> bool:
    """Return True if a row that is no tombstone comes before a tombstone."""
    deletes = pc.indices_nonzero(tombstones)
    return len(deletes) > 0 and deletes[-1].as_py() >= len(deletes)


def deletes_first(tombstones: pa.Array) -> list[int]:
    """Return where parts of a batch end in which all tombstones come before the other rows.

    Such parts can be written one by one if the database may take different keys for one: a part's deletes precede its
    writes, as in the batch.
    """
    marks = tombstones.to_pylist()
    ends = [row for row in range(1, len(marks)) if marks[row] and not marks[row - 1]]
    return [*ends, len(marks)]


def _last(rows: pa.Table, names: list[str]) -> pa.Table:
    return rows.group_by(names).aggregate([("number", "max")])


def _sorted(numbers: pa.ChunkedArray) -> pa.Array:
    found = numbers.combine_chunks()
    return found.take(pc.sort_indices(found))
