"""Estimates how large a table is from the figures that the nodes keep of themselves.

Source: `system.size_estimates` of Cassandra 3.0 to 5.0. Each node counts the partitions of its own ranges every five
minutes, from what was flushed to disk. So a table that was filled a moment ago is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.tables import Table

_RING: Final = 2**64
_QUERY: Final = (
    "SELECT range_start, range_end, partitions_count, mean_partition_size FROM system.size_estimates "
    "WHERE keyspace_name = %s AND table_name = %s"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Holds the estimated size of a whole table."""

    partitions: int
    size_bytes: int


def estimate_of(database: Queries, table: Table) -> Estimate | None:
    """Estimate the size of a table from the ranges of the node that answers; None if this node has no estimate."""
    found = database.rows(_QUERY, (table.keyspace, table.name), doing=f"asking how large {table.title} is")
    return extrapolated((int(start), int(end), count, size) for start, end, count, size in found)


def extrapolated(ranges: Iterable[tuple[int, int, int, int]]) -> Estimate | None:
    """Estimate a whole table from some of its ranges: start, end, partitions and mean partition bytes of each.

    Return None if the ranges hold no partition.
    """
    covered = partitions = size_bytes = 0
    for start, end, count, mean_bytes in ranges:
        # The range that passes the end of the ring has a start greater than its end.
        covered += (end - start) % _RING
        partitions += count
        size_bytes += count * mean_bytes
    if not covered or not partitions:
        return None
    return Estimate(partitions * _RING // covered, size_bytes * _RING // covered)
