"""Keep rows of one table that are in no snapshot yet, by the partition they were read from.

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
    """Rows that came in one batch, and the ascending offset that each has."""

    rows: pa.RecordBatch
    offsets: NDArray[np.int64]

    def behind(self, offset: int) -> Piece | None:
        """Return the rows at this offset and behind it; None: there are none."""
        gone = int(np.searchsorted(self.offsets, offset))
        if gone == 0:
            return self
        return None if gone == len(self.offsets) else Piece(self.rows.slice(gone), self.offsets[gone:])


@dataclass(frozen=True, slots=True)
class Pending:
    """The rows of a table that are in no snapshot yet.

    A change makes a new object, so what is being written stays as it is.
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
        """Return all rows; those of a partition are in their order."""
        return [piece.rows for piece in self._all()]

    def with_piece(self, partition: TopicPartition, piece: Piece) -> Pending:
        """Return these rows and a piece that was read behind all others of its partition or in the last poll."""
        return Pending({**self.pieces, partition: (*self.pieces.get(partition, ()), piece)})

    def without(self, partitions: frozenset[TopicPartition]) -> Pending:
        """Return the rows without those of these partitions."""
        return Pending({partition: own for partition, own in self.pieces.items() if partition not in partitions})

    def behind(self, progress: TableProgress) -> Pending:
        """Return the rows that a table which is so far has not; the same object where it has none of them."""
        left: dict[TopicPartition, Sequence[Piece]] = {}
        for partition, own in self.pieces.items():
            end = progress.next_offset(partition)
            kept = [rest for piece in own if (rest := piece.behind(end)) is not None]
            if kept:
                left[partition] = own if len(kept) == len(own) and all(map(_is, kept, own)) else kept
        same = len(left) == len(self.pieces) and all(left[partition] is own for partition, own in self.pieces.items())
        return self if same else Pending(left)

    def first_offset(self, partition: TopicPartition) -> int | None:
        """Return the least offset of a row of the partition; None: it has none here."""
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
