"""Chunks that turned out much larger than planned, cut again while their job runs. No I/O.

Its lane ends such a chunk at the key up to which it was read, and says in the marker which pieces the rest was cut
into: the marker is in the transaction of the chunk's rows, so the pieces are there exactly when the chunk ends there.
They are shared out among all lanes in the job's next round. A piece may be cut again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from connect.api.optional.bulk import BulkReader, DivisibleReader, Split
from connect.backfill.job.markers import Marker

STRAND: Final = "strand"
"""A member of bounds: chunks of one strand, as of a partition whose order counts, are one lane's. It is in the plan,
as a job that goes on has the lanes that it began with."""
PIECES: Final = 16
"""Most of them are empty where the keys of many rows lie close together, and an empty one costs a query."""
_TIMES: Final = 4
"""How many times its planned rows a chunk has given when it is cut: estimates may be wrong by that."""


class PlacedChunk(NamedTuple):
    """A chunk, and the lane that alone writes it: it finds its markers there."""

    split: Split
    lane: int


def pieces_of(reader: BulkReader, chunk: Split, read: int, offset: Mapping[str, object] | None) -> Sequence[Split]:
    """Return what to cut a chunk into that has given so many rows and has more behind `offset`: the chunk as it was
    read, then the pieces of its rest. Empty: go on reading it.
    """
    if not isinstance(reader, DivisibleReader) or offset is None or not 0 < chunk.rows * _TIMES <= read:
        return ()
    pieces = reader.divide(chunk, offset, PIECES)
    return pieces if len(pieces) > 1 else ()


def lanes_of(planned: Sequence[Split], lanes: int) -> Iterator[int]:
    """Yield the lane of each split: in turn, but all splits of a strand in one."""
    strands: dict[object, int] = {}
    for place, split in enumerate(planned):
        strand = split.bounds.get(STRAND)
        yield (place if strand is None else strands.setdefault(strand, len(strands))) % lanes


def placed_chunks(planned: Sequence[Split], found: Iterable[Marker], lanes: int) -> list[PlacedChunk]:
    """Return the chunks of a job as they are now, each with the bounds in which it was or will be read.

    planned: in the order of the plan. found: of all lanes, those of a lane in order.
    """
    cuts = {marker.chunk: marker.pieces for marker in found if marker.pieces}
    begun = (PlacedChunk(split, lane) for split, lane in zip(planned, lanes_of(planned, lanes), strict=True))
    return [made for chunk in begun for made in _pieces(chunk, cuts, lanes)]


def _pieces(chunk: PlacedChunk, cuts: Mapping[str, Sequence[Split]], lanes: int) -> Iterator[PlacedChunk]:
    left = [chunk]
    while left:
        one = left.pop()
        pieces = cuts.get(one.split.id)
        if not pieces:
            yield one
            continue
        yield PlacedChunk(pieces[0], one.lane)
        left += [PlacedChunk(piece, (one.lane + n) % lanes) for n, piece in enumerate(pieces[1:], 1)]
