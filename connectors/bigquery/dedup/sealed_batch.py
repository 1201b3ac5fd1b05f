"""Holds rows of one table that are written together, and the partition and offset of each. Values only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import CLEARS, IS_APPEND, IS_DELETE, DedupColumns
from connectors.bigquery.rows.table_schema import Columns, grown
from connectors.bigquery.rows.types import arrow_type_of

if TYPE_CHECKING:
    import pyarrow as pa

Refusals = Mapping[int, Exception]
"""Holds the reasons for which BigQuery does not take rows, by the index of the row in its batch."""


class OffsetRange(NamedTuple):
    """Holds the first and the last offset of a partition's rows in a batch."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Holds the rows of one put, which are all from one partition, and their offsets.

    `topic_id` is the id of their topic; None: it is not known.
    """

    partition: TopicPartition
    rows: pa.Table
    offsets: pa.Int64Array
    topic_id: str | None = None

    @property
    def range(self) -> OffsetRange:
        """Return the offsets of its rows, of which there is at least one."""
        return OffsetRange(self.offsets[0].as_py(), self.offsets[-1].as_py())

    def slice(self, start: int, stop: int) -> Piece:
        """Return the rows start..stop-1, without a copy."""
        return replace(self, rows=self.rows.slice(start, stop - start), offsets=self.offsets.slice(start, stop - start))


@dataclass(frozen=True, slots=True)
class SealedBatch:
    """Holds rows of one table that are written together, and the table's columns.

    `bound` is SQL of the first partition of the table that is searched for their keys.
    """

    target: str
    pieces: Sequence[Piece]
    columns: Columns
    dedup: DedupColumns
    bound: str | None

    def __len__(self) -> int:
        return sum(len(piece.offsets) for piece in self.pieces)

    @property
    def tables(self) -> list[pa.Table]:
        """Return the rows as Arrow tables, one for each put."""
        return [piece.rows for piece in self.pieces]

    @property
    def ranges(self) -> dict[TopicPartition, OffsetRange]:
        """Return the offsets of the rows of each partition."""
        found: dict[TopicPartition, OffsetRange] = {}
        for piece in self.pieces:
            if not len(piece.offsets):
                continue
            its = piece.range
            before = found.get(piece.partition, its)
            found[piece.partition] = OffsetRange(min(before.first, its.first), max(before.last, its.last))
        return found

    @property
    def deletes(self) -> int:
        """Return the number of rows that are deletes."""
        return self._marked(IS_DELETE)

    @property
    def clears(self) -> int | None:
        """Return the number of tombstones without an order; None if the rows have no column CLEARS."""
        return self._marked(CLEARS) if all(CLEARS in table.column_names for table in self.tables) else None

    @property
    def appends(self) -> int:
        """Return the number of rows that are appended and replace none."""
        return self._marked(IS_APPEND)

    def with_members_of(self, table: Columns) -> SealedBatch:
        """Return the batch with those members of a table's records that it lacks, as nulls; itself if it lacks none."""
        columns = grown(self.columns, table)
        if columns == self.columns:
            return self
        changed = tuple(new for old, new in zip(self.columns, columns, strict=True) if new != old)
        pieces = [replace(piece, rows=_with_types(piece.rows, changed)) for piece in self.pieces]
        return replace(self, pieces=pieces, columns=columns)

    def slice(self, start: int, stop: int) -> SealedBatch:
        """Return the rows start..stop-1, without a copy. If there are none, one piece stays, for its columns."""
        pieces, before = [], 0
        for piece in self.pieces:
            size = len(piece.offsets)
            first, last = max(0, start - before), min(size, stop - before)
            if first < last:
                pieces.append(piece.slice(first, last))
            before += size
        return replace(self, pieces=pieces or [self.pieces[0].slice(0, 0)])

    def without(self, rows: Collection[int]) -> SealedBatch:
        """Return the batch without the rows of these indices."""
        import pyarrow as pa

        pieces, before = [], 0
        for piece in self.pieces:
            kept = [row for row in range(len(piece.offsets)) if before + row not in rows]
            before += len(piece.offsets)
            pieces.append(
                replace(piece, rows=piece.rows.take(kept), offsets=piece.offsets.take(pa.array(kept, pa.int64())))
            )
        return replace(self, pieces=pieces)

    def places(self, rows: Sequence[int]) -> dict[TopicPartition, list[tuple[int, int]]]:
        """Return the offset and the index of each of these rows, by partition."""
        found: dict[TopicPartition, list[tuple[int, int]]] = {}
        before, left = 0, sorted(rows)
        for piece in self.pieces:
            stop = before + len(piece.offsets)
            for row in (row for row in left if before <= row < stop):
                found.setdefault(piece.partition, []).append((piece.offsets[row - before].as_py(), row))
            before = stop
        return found

    def _marked(self, mark: str) -> int:
        import pyarrow.compute as pc

        return sum(pc.sum(table[mark]).as_py() or 0 for table in self.tables)


def _with_types(rows: pa.Table, columns: Columns) -> pa.Table:
    """Return the rows with the types of these columns, as far as they have them."""
    for column in columns:
        index = rows.schema.get_field_index(column.name)
        if index >= 0:
            rows = rows.set_column(index, column.name, rows[index].cast(arrow_type_of(column)))
    return rows
