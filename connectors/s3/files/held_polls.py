"""Holds the rows of a topic partition that were polled and are in no file yet. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connectors.s3.files.intake import Admitted

_ROWS_PER_FILE: Final = 16
_BYTES: Final = 8 * 2**20
"""Polls are held until they have `_ROWS_PER_FILE` rows for each open file, or this many bytes."""


class HeldPolls:
    """Gathers the parts of a poll, and polls that have few rows for each open file. The task thread owns it.

    Transforms can split the records of one poll into parts with interleaved offsets, which share `next_offset`. A file
    may end only when all of them have come. `size_bytes` are the bytes of complete polls, and `ended_ms` is the time in
    milliseconds at which the last one came.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.ended_ms = 0
        self._poll: list[Admitted] = []
        self._polled_ms = 0
        self._held: list[Sequence[Admitted]] = []
        self._rows = 0

    @property
    def has_parts(self) -> bool:
        """Return True if some parts are in no file yet."""
        return bool(self._poll or self._held)

    def is_of_other_poll(self, admitted: Admitted) -> bool:
        """Return True if a part belongs to another poll than the one that is being gathered."""
        return bool(self._poll) and self._poll[0].consumed.next_offset != admitted.consumed.next_offset

    def add(self, admitted: Admitted, now_ms: int) -> None:
        """Take a part of the poll that is being gathered."""
        self._poll.append(admitted)
        self._polled_ms = now_ms

    def end(self) -> Sequence[Admitted]:
        """End the poll that is being gathered, and return its parts."""
        poll, self._poll = self._poll, []
        return poll

    def hold(self, parts: Sequence[Admitted]) -> None:
        """Keep the parts of an ended poll that have rows, in the order of their offsets."""
        self.ended_ms = self._polled_ms
        self._held.append(parts)
        self._rows += sum(part.facts.length for part in parts)
        self.size_bytes += sum(part.prepared.rows.nbytes for part in parts)

    def are_few(self, open_files: int) -> bool:
        """Return True if it pays to wait for more polls, as the costs per file and poll would exceed all others."""
        return self._rows < _ROWS_PER_FILE * open_files and self.size_bytes < _BYTES

    def release(self) -> Sequence[Sequence[Admitted]]:
        """Return the polls that were held, and hold them no more."""
        held, self._held, self._rows, self.size_bytes = self._held, [], 0, 0
        return held
