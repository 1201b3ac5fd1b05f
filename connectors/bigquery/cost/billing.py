"""Models Google's rules of what a statement and an insert are billed for. Pure.

DML: https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#on-demand_query_size_calculation
The least bytes that a statement or row is billed for: https://cloud.google.com/bigquery/pricing
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEAST_BYTES: Final = 10 * 2**20
"""A statement is billed for at least so much of each table that it names."""
LEAST_ROW_BYTES: Final = 1024
"""A row that is shorter counts as so many bytes with insertAll."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Describes the part of a table that a statement searches: rows, bytes, and bytes of the named columns of a row."""

    rows: int
    total_bytes: int
    named_bytes_per_row: int

    @property
    def named_bytes(self) -> int:
        """Return the bytes of the columns that the statement names, but not more than the part has."""
        return min(self.total_bytes, self.rows * self.named_bytes_per_row)


def merge_bytes(
    target: Searched, staged_bytes: int, *, changes_rows: bool, staging_tables: int = 1, memories: int = 0
) -> int:
    """Return the bytes that a MERGE is billed for: the columns it names, and all of the partitions that it changes.

    `staging_tables` is how many tables hold the staged bytes, in equal parts. `memories` is how many tables of
    remembered deletes are read, which are taken to be small.

    This is the most that it can be, as it takes all searched partitions as changed, like those of random keys. The
    second part is missing if the MERGE only inserts.
    """
    read = max(LEAST_BYTES, target.named_bytes) + max(staging_tables * LEAST_BYTES, staged_bytes)
    return read + memories * LEAST_BYTES + (target.total_bytes if changes_rows else 0)


def listing_and_deleting_bytes(log: Searched) -> int:
    """Return the bytes that a compaction is billed for beside its MERGE: for the list of batches, and their DELETE."""
    return max(LEAST_BYTES, log.named_bytes) + max(LEAST_BYTES, log.total_bytes)


def insert_all_bytes(rows: int, row_bytes: int) -> int:
    """Return the bytes that insertAll is billed for."""
    return rows * max(LEAST_ROW_BYTES, row_bytes)
