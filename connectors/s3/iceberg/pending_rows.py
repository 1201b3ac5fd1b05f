"""Keeps the rows for one table that are in no snapshot yet, by the topic partition that they come from.

The task thread owns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from connect.api.records import TopicPartition
from connectors.s3.iceberg.offset_runs import Runs

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Piece:
    """Holds the rows of one batch, and their offsets, which ascend."""

    rows: pa.RecordBatch
    offsets: NDArray[np.int64]

    def outside(self, runs: Runs) -> Piece | None:
        """Return the rows whose offsets are in none of these runs, or None if there are none."""
        import pyarrow as pa

        is_left = np.ones(len(self.offsets), bool)
        for begin, end in runs:
            first, stop = np.searchsorted(self.offsets, (begin, end))
            is_left[first:stop] = False
        if is_left.all():
            return self
        return Piece(self.rows.filter(pa.array(is_left)), self.offsets[is_left]) if is_left.any() else None


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

    def outside(self, held: Mapping[TopicPartition, Runs]) -> Pending:
        """Return the rows whose offsets are in none of the runs of their partition; this object if all are."""
        left: dict[TopicPartition, Sequence[Piece]] = {}
        for partition, own in self.pieces.items():
            runs = held.get(partition, ())
            kept = [rest for piece in own if (rest := piece.outside(runs)) is not None]
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
