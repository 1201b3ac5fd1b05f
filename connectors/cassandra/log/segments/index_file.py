"""Tells how far a segment may be read, by its `CommitLog-…_cdc.idx`. Pure.

Source: CommitLogSegment.writeCDCIndexFile of Cassandra 4.0 to 5.0. The file is truncated and written anew, so that it
may be empty for a moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COMPLETED: Final = "COMPLETED"


@dataclass(frozen=True, slots=True)
class SegmentProgress:
    """`synced`: the logical end of what is on disk for good; `completed`: the segment does not change any more.

    Of a completed segment the number is its end or, where the node has replayed it after a crash, the file's size.
    """

    synced: int
    completed: bool


def parse_index(text: str) -> SegmentProgress | None:
    """Return what an index file says; None: it is being written, or broken."""
    lines = text.split("\n")
    if not lines[0].isdigit():
        return None
    return SegmentProgress(int(lines[0]), lines[1:2] == [COMPLETED])
