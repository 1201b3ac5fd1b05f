"""Cuts chunks again that turned out much larger than planned, while their job runs. No I/O.

The lane ends such a chunk at the key up to which it was read. The marker says into which pieces the rest was cut. It is
written in the transaction of the chunk's rows, so the pieces exist exactly when the chunk ends there. In the job's next
round the pieces are shared out among all lanes. A piece may be cut again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from connect.api.optional.bulk import BulkReader, DivisibleReader, Split
from connect.backfill.job.markers import Marker

STRAND: Final = "strand"
"""Names the member of a split's bounds that says its strand. All chunks of a strand are written by one lane.

A strand is a partition whose order counts, for instance. It is in the plan, as a resumed job has the same lanes as
before.
"""
PIECES: Final = 16
"""The rest of a chunk is cut into so many pieces.

Where the keys of many rows lie close together most pieces are empty, and an empty one costs a query.
"""
_TIMES: Final = 4
"""A chunk is cut when it has given so many times its planned rows: estimates may be wrong by that."""


class PlacedChunk(NamedTuple):
    """Holds a chunk and the only lane that writes it; the chunk's markers are in that lane's partition."""

    split: Split
    lane: int


def pieces_of(reader: BulkReader, chunk: Split, read: int, offset: Mapping[str, object] | None) -> Sequence[Split]:
    """Return the pieces into which to cut a chunk that has given `read` rows and has more behind `offset`.

    The first piece is the chunk as far as it was read; the others are its rest. Empty: go on reading the chunk.
    """
    if not isinstance(reader, DivisibleReader) or offset is None or not 0 < chunk.rows * _TIMES <= read:
        return ()
    pieces = reader.divide(chunk, offset, PIECES)
    return pieces if len(pieces) > 1 else ()


def lanes_of(planned: Sequence[Split], lanes: int) -> Iterator[int]:
    """Yield the lane of each split: the lanes take turns, but all splits of a strand get the same lane."""
    strands: dict[object, int] = {}
    for place, split in enumerate(planned):
        strand = split.bounds.get(STRAND)
        yield (place if strand is None else strands.setdefault(strand, len(strands))) % lanes


def placed_chunks(planned: Sequence[Split], found: Iterable[Marker], lanes: int) -> list[PlacedChunk]:
    """Return the chunks of a job as they are now, each with the bounds in which it was or will be read.

    `planned` has the plan's order. `found` are the markers of all lanes, those of each lane in order.
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
