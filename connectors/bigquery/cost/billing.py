"""Models Google's rules of what a statement and an insert are billed for. Pure.

DML: https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#on-demand_query_size_calculation
A statement's least, and the least of a row: https://cloud.google.com/bigquery/pricing
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEAST_BYTES: Final = 10 * 2**20
"""A statement is billed for at least so much of each table that it names."""
LEAST_ROW_BYTES: Final = 1024
"""It is what a shorter row counts by insertAll."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Tells of the part of a table that a statement searches: its rows, all its bytes, and those of named columns."""

    rows: int
    total_bytes: int
    named_bytes_per_row: int

    @property
    def named_bytes(self) -> int:
        """Return the bytes of the columns that the statement names, at most all."""
        return min(self.total_bytes, self.rows * self.named_bytes_per_row)


def merge_bytes(target: Searched, staged_bytes: int, *, changes_rows: bool) -> int:
    """Return what a MERGE is billed for: the columns it names, and all of the partitions in which it changes rows.

    Rows of random keys change in all partitions that are searched, so this is the most that it can be. A MERGE that
    only inserts has no second part.
    """
    read = max(LEAST_BYTES, target.named_bytes) + max(LEAST_BYTES, staged_bytes)
    return read + (target.total_bytes if changes_rows else 0)


def insert_all_bytes(rows: int, row_bytes: int) -> int:
    """Return what insertAll is billed for."""
    return rows * max(LEAST_ROW_BYTES, row_bytes)
