"""Turns a chunk into parts that are committed one by one, each with its marker. No transactions, no threads.

Parts for Kafka hold the rows as records, so a large chunk has several parts. Rows for a sink are in the target before
their part is committed, and the part only tells of them. Such a chunk has one part, and the chunk's name keeps its rows
from being there twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from connect.api.errors import ConnectError
from connect.api.optional.bulk import BulkReader, CountedReader, RejectingReader, Split
from connect.api.records import Batch
from connect.backfill.job.markers import Marker, added, checksum
from connect.backfill.job.oversized_chunks import pieces_of
from connect.kafka.raw import RawBatch
from connect.runtime.records.pipeline import Encoded

T = TypeVar("T")


class Rejected(NamedTuple):
    """Holds rows that the source could not give, with the reason for each by its index in `batch`."""

    batch: Batch
    reasons: Mapping[int, Exception]


_WITHOUT_PLACE: Final = 16
"""A transaction may have so many times the wanted bytes if reading cannot go on behind its rows."""
Encode = Callable[[Batch, Sequence[Rejected]], Encoded]
"""Returns the records for a batch; it also gets the rows that were rejected while the batch was read."""


@dataclass(frozen=True, slots=True)
class RemainingChunk:
    """Names what is left of a chunk: everything behind the offset `after`, where its last part ended; None: all.

    `parts` is the number of parts that the chunk has so far.
    """

    chunk: Split
    after: Mapping[str, object] | None = None
    parts: int = 0


@dataclass(slots=True)
class ChunkPart:
    """Holds the content of one transaction: records (none for a sink), dead letters, and the figures of its marker.

    `partitions` has the number of partitions of each topic, and `topic_ids` its id. `pieces` are the chunks that the
    rest of its chunk was cut into, see `division`.
    """

    batches: list[RawBatch] = field(default_factory=list)
    letters: list[RawBatch] = field(default_factory=list)
    read: int = 0
    rows: int = 0
    size_bytes: int = 0
    checksum: int = 0
    offset: Mapping[str, object] | None = None
    is_last: bool = False
    partitions: Mapping[str, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[Split] = ()
    counted: int | None = None
    counted_from: int = 0

    def add(self, batch: Batch, rejected: Sequence[Rejected], encoded: Encoded) -> None:
        """Add a batch: its records, and the rows that were rejected while it was read."""
        self.read += rows_read(batch, rejected)
        self.offset = None if batch.position is None else batch.position.offset
        for raw in encoded.rows:
            self.batches.append(raw)
            self.rows += len(raw)
            self.size_bytes += raw.size_bytes
            self.checksum = added(self.checksum, checksum(raw))
        self.letters += encoded.letters
        self.size_bytes += sum(letter.size_bytes for letter in encoded.letters)

    def marker(self, chunk: str, number: int) -> Marker:
        """Return the marker of this part, which is part `number` of its chunk."""
        topics: dict[str, int] = {}
        for raw in self.batches:
            topics[raw.topic] = topics.get(raw.topic, 0) + len(raw)
        return Marker(
            chunk=chunk,
            part=number,
            read=self.read,
            rows=self.rows,
            size_bytes=self.size_bytes,
            checksum=self.checksum,
            is_last=self.is_last,
            letters=sum(map(len, self.letters)),
            topics=topics,
            offset=self.offset,
            partitions=self.partitions,
            topic_ids=self.topic_ids,
            pieces=self.pieces,
            counted=self.counted,
            counted_from=self.counted_from,
            written_ms=time.time_ns() // 1_000_000,
        )


def record_parts(
    reader: BulkReader, encode: Encode, rest: RemainingChunk, max_bytes: int
) -> Generator[ChunkPart, None, None]:
    """Yield what is left of a chunk as records, in parts of about `max_bytes` bytes; the last is marked.

    The last part may be empty. A chunk that is much larger than planned ends behind one of the parts, see `division`.
    Errors of reading and encoding are raised.
    """
    part, read = ChunkPart(), 0
    for (batch, rejected), is_last in _with_last(sifted(reader, rest)):
        part.add(batch, rejected, encode(batch, rejected))
        read += rows_read(batch, rejected)
        if is_last:
            break
        if part.offset is None and part.size_bytes >= max_bytes * _WITHOUT_PLACE:
            raise _endless(rest.chunk, part)
        if part.size_bytes >= max_bytes and part.offset is not None:
            part.pieces = pieces_of(reader, rest.chunk, read, part.offset)
            if part.pieces:
                break
            yield part
            part = ChunkPart()
    part.is_last = True
    # If pieces were cut off, their rows are counted when the pieces are read.
    part.counted = reader.counted if isinstance(reader, CountedReader) and not part.pieces else None
    part.counted_from = rest.parts
    yield part


def _endless(chunk: Split, part: ChunkPart) -> ConnectError:
    return ConnectError(
        f"Chunk {chunk.id} has {part.rows:,} rows, {part.size_bytes:,} bytes, behind none of which reading could go on,"
        " and one transaction is to have them all.",
        key="chunking.max_bytes",
        fix="Give the table a key, or raise chunking.max_bytes where there is memory for them.",
    )


def sifted(reader: BulkReader, rest: RemainingChunk) -> Iterator[tuple[Batch, Sequence[Rejected]]]:
    """Yield the batches of what is left of a chunk, each with the rows that were rejected while it was read."""
    rejected: list[Rejected] = []
    if isinstance(reader, RejectingReader):
        reader.reject_by(lambda batch, reasons: rejected.append(Rejected(batch, reasons)))
    for batch in reader.read(rest.chunk, rest.after):
        given_up = rejected.copy()
        rejected.clear()
        yield batch, given_up


def rows_read(batch: Batch, rejected: Sequence[Rejected]) -> int:
    """Return how many rows of the source a batch holds, together with those that were rejected beside it."""
    return len(batch) + sum(len(rows.reasons) for rows in rejected)


def _with_last(items: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Yield each item, and True with the last one."""
    rest = iter(items)
    try:
        one = next(rest)
    except StopIteration:
        return
    for following in rest:
        yield one, False
        one = following
    yield one, True
