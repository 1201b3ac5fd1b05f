"""Gathers the rows of one table, seals them as a batch, and has a thread write it. The task thread owns the buffer.

The batches of one table are written one after the other, in the order of their rows; those of several tables are
written side by side. A buffer says which offsets are not yet in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Protocol

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.lib.backoff import delay_s
from connectors.bigquery.dedup.rules import DedupColumns
from connectors.bigquery.dedup.sealed_batch import Piece, Refusals, SealedBatch
from connectors.bigquery.dedup.staged_rows import Admitted
from connectors.bigquery.dedup.window import Window
from connectors.bigquery.rows.table_schema import Columns


@dataclass(frozen=True, slots=True)
class Rotation:
    """Says when a batch is sealed: it has `rows` rows or `size_bytes` bytes, or its first row is `interval_s` old."""

    rows: int
    size_bytes: int
    interval_s: float


@dataclass
class TableBuffer:
    """Holds the rows that are gathered for one table, and the batch that is being written into it.

    `columns` and `dedup` are those that the table has now. `window.newest_of` tells `newest_us`. `refused` has the rows
    of written batches that the table did not take, until the sink reports them. `failure` says why the batch has to be
    written again, and `sealed_at_s` when it was sealed.
    """

    target: str
    columns: Columns
    dedup: DedupColumns
    rotation: Rotation
    window: Window | None = None
    newest_us: int | None = None
    refused: list[tuple[SealedBatch, Refusals]] = field(default_factory=list)
    failure: RetriableError | None = None
    sealed_at_s: float = 0.0
    _pieces: list[Piece] = field(default_factory=list)
    _oldest_us: list[int | None] = field(default_factory=list)
    _first: dict[TopicPartition, int] = field(default_factory=dict)
    _rows: int = 0
    _bytes: int = 0
    _since_s: float = 0.0
    _sealed: SealedBatch | None = None
    _sealed_bytes: int = 0
    _sealed_first: Mapping[TopicPartition, int] = field(default_factory=dict)
    _writing: Future[Refusals] | None = None
    _retry_at_s: float = 0.0
    _failures: int = 0

    def take(self, partition: TopicPartition, admitted: Admitted, now_s: float, topic_id: str | None = None) -> None:
        """Gather the rows that one `put` has for the table."""
        self.newest_us = admitted.newest_us if admitted.newest_us is not None else self.newest_us
        if not len(admitted.rows):
            return
        if not self._pieces:
            self._since_s = now_s
        self._pieces.append(Piece(partition, admitted.rows, admitted.offsets, topic_id))
        self._oldest_us.append(admitted.oldest_us)
        # Rows are counted as they come: every put and flush asks for the sums, and there may be a thousand pieces.
        first = self._pieces[-1].range.first
        self._first[partition] = min(first, self._first.get(partition, first))
        self._rows += len(admitted.offsets)
        self._bytes += admitted.rows.nbytes

    @property
    def held_bytes(self) -> int:
        """Return the bytes of all rows that are gathered or being written."""
        return self._bytes + self._sealed_bytes

    @property
    def held_rows(self) -> int:
        """Return the number of rows that are gathered and not sealed yet."""
        return self._rows

    @property
    def is_writing(self) -> bool:
        """Return True if a sealed batch is not yet in the table."""
        return self._sealed is not None

    def due_in_s(self, now_s: float) -> float | None:
        """Return the seconds until the gathered rows are sealed; None if no rows are gathered."""
        if not self._pieces:
            return None
        if self._rows >= self.rotation.rows or self._bytes >= self.rotation.size_bytes:
            return 0.0
        return max(0.0, self._since_s + self.rotation.interval_s - now_s)

    def seal(self) -> SealedBatch:
        """Make a batch of the gathered rows. The batch before it has to be written already."""
        assert self._sealed is None
        sealed = self._sealed = SealedBatch(self.target, tuple(self._pieces), self.columns, self.dedup, self._bound())
        self._sealed_bytes, self._sealed_first = self._bytes, self._first
        self._pieces, self._oldest_us, self._first, self._rows, self._bytes = [], [], {}, 0, 0
        return sealed

    def _bound(self) -> str | None:
        """Return the first of the table's partitions that may have rows of the gathered records; None: any may."""
        oldest = self._oldest_us
        if self.window is None or any(time is None for time in oldest):
            return None
        return self.window.bound(min(time for time in oldest if time is not None))

    def advance(
        self, write: Callable[[SealedBatch], Refusals], executor: Executor, now_s: float
    ) -> RetriableError | None:
        """Take note of a batch that is written, and start the next one that is due, without waiting.

        A batch that failed with RetriableError is written again, with growing waits, and the error is returned. Any
        other error of the batch is raised here.
        """
        error = self._note_written(now_s)
        if self._sealed is None and self.due_in_s(now_s) == 0.0:
            self.sealed_at_s = now_s
            self.seal()
        if self._sealed is not None and self._writing is None and now_s >= self._retry_at_s:
            self._writing = executor.submit(write, self._sealed)
        return error

    def pending(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield for each partition its first offset that is not in the table yet; a partition may come twice."""
        yield from self._first.items()
        yield from self._sealed_first.items()

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the gathered rows of these partitions. Sealed rows may still be written, which does no harm."""
        kept = [i for i, piece in enumerate(self._pieces) if piece.partition not in partitions]
        self._pieces = [self._pieces[i] for i in kept]
        self._oldest_us = [self._oldest_us[i] for i in kept]
        self._first = {partition: first for partition, first in self._first.items() if partition not in partitions}
        self._rows = sum(len(piece.offsets) for piece in self._pieces)
        self._bytes = sum(piece.rows.nbytes for piece in self._pieces)

    def _note_written(self, now_s: float) -> RetriableError | None:
        if self._writing is None or not self._writing.done():
            return None
        writing, self._writing = self._writing, None
        try:
            refused = writing.result()
        except RetriableError as error:
            self._failures += 1
            self._retry_at_s = now_s + delay_s(self._failures, initial_s=0.5, max_s=60.0)
            self.failure = error
            return error
        if refused:
            assert self._sealed is not None
            self.refused.append((self._sealed, refused))
        self._sealed, self._sealed_bytes, self._sealed_first = None, 0, {}
        self.failure, self._failures, self._retry_at_s = None, 0, 0.0
        return None


class Holder(Protocol):
    """Keeps records, or rows made of them, that are in no table yet."""

    def pending(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield pairs of a partition and an offset of it that is in no table yet."""


def first_pending(holders: Iterable[Holder]) -> Mapping[TopicPartition, int]:
    """Return for each partition its first offset that is in no table yet, if it has one."""
    first: dict[TopicPartition, int] = {}
    for holder in holders:
        for partition, offset in holder.pending():
            first[partition] = min(offset, first.get(partition, offset))
    return first
