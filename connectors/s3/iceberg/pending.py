"""Keeps the rows for one table that are in no snapshot yet, by the topic partition that they come from.

The task thread owns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from connect.api.records import TopicPartition
from connectors.s3.iceberg.progress import TableProgress

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Piece:
    """Holds the rows of one batch, and their offsets, which ascend."""

    rows: pa.RecordBatch
    offsets: NDArray[np.int64]

    def behind(self, offset: int) -> Piece | None:
        """Return the rows from this offset on, or None if there are none."""
        gone = int(np.searchsorted(self.offsets, offset))
        if gone == 0:
            return self
        return None if gone == len(self.offsets) else Piece(self.rows.slice(gone), self.offsets[gone:])


@dataclass(frozen=True, slots=True)
class Pending:
    """Holds the rows for a table that are in no snapshot yet.

    Methods return a new object, so that rows which are being written do not change.
    """

    pieces: Mapping[TopicPartition, Sequence[Piece]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return sum(len(piece.offsets) for piece in self._all())

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory that the rows take."""
        return sum(piece.rows.nbytes for piece in self._all())

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """Return all rows; those of a partition are in order."""
        return [piece.rows for piece in self._all()]

    def with_piece(self, partition: TopicPartition, piece: Piece) -> Pending:
        """Return these rows and one more piece, which was read after its partition's other pieces, or in their poll."""
        return Pending({**self.pieces, partition: (*self.pieces.get(partition, ()), piece)})

    def without(self, partitions: frozenset[TopicPartition]) -> Pending:
        """Return the rows without those of these partitions."""
        return Pending({partition: own for partition, own in self.pieces.items() if partition not in partitions})

    def behind(self, progress: TableProgress) -> Pending:
        """Return the rows that a table with this progress does not have; this object if it has none of the rows."""
        left: dict[TopicPartition, Sequence[Piece]] = {}
        for partition, own in self.pieces.items():
            end = progress.next_offset(partition)
            kept = [rest for piece in own if (rest := piece.behind(end)) is not None]
            if kept:
                left[partition] = own if len(kept) == len(own) and all(map(_is, kept, own)) else kept
        same = len(left) == len(self.pieces) and all(left[partition] is own for partition, own in self.pieces.items())
        return self if same else Pending(left)

    def first_offset(self, partition: TopicPartition) -> int | None:
        """Return the least offset of the partition's rows, or None if it has no rows here."""
        own = self.pieces.get(partition)
        return None if own is None else min(int(piece.offsets[0]) for piece in own)

    def ends(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield each partition, and the offset behind its last row."""
        for partition, own in self.pieces.items():
            yield partition, max(int(piece.offsets[-1]) for piece in own) + 1

    def _all(self) -> Iterator[Piece]:
        return (piece for own in self.pieces.values() for piece in own)


def _is(one: object, other: object) -> bool:
    return one is other
