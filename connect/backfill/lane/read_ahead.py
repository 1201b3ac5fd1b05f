"""Reads the next part of a lane while the last one is sent and committed.

A thread reads and encodes, and the lane's thread takes the parts one by one. So memory holds one part more than without
it. A part that was read but is not taken is dropped, as nothing of it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from connect.backfill.job.parts import ChunkPart, RemainingChunk


@dataclass(slots=True)
class _Reading:
    """Holds the reading of `rest`. `next_part` is being read, or is read and not taken yet."""

    rest: RemainingChunk
    parts: Generator[ChunkPart, None, None]
    next_part: Future[ChunkPart]


class ReadAhead:
    """Reads the parts of chunks, always one ahead. Owned by the lane's thread."""

    def __init__(self, read: Callable[[RemainingChunk], Generator[ChunkPart, None, None]]) -> None:
        """Take the function that yields the parts of what is left of a chunk; it is called on the reading thread."""
        self._read = read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="backfill-reading")
        self._taken: _Reading | None = None
        self._ahead: _Reading | None = None

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield the parts of `rest`; they are read anew unless the last call named it as `then`.

        `then` is the chunk that is asked for next if all goes well; its first part is read once the last part of `rest`
        is taken. Errors of reading are raised.
        """
        ahead, self._ahead = self._ahead, None
        self._forget(self._taken)
        if ahead is not None and ahead.rest != rest:
            self._forget(ahead)
            ahead = None
        self._taken = ahead or self._begun(rest)
        return self._take(self._taken, then)

    def close(self) -> None:
        """Stop reading, after what is being read now. May be called twice."""
        taken, ahead, self._taken, self._ahead = self._taken, self._ahead, None, None
        self._forget(taken)
        self._forget(ahead)
        self._thread.shutdown()

    def _take(self, reading: _Reading, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        is_last = False
        while not is_last:
            part = reading.next_part.result()
            is_last = part.is_last
            if not is_last:
                reading.next_part = self._thread.submit(next, reading.parts)
            elif then is not None:
                self._ahead = self._begun(then)
            yield part

    def _begun(self, rest: RemainingChunk) -> _Reading:
        parts = self._read(rest)
        return _Reading(rest, parts, self._thread.submit(next, parts))

    def _forget(self, reading: _Reading | None) -> None:
        """End a reading where it is. Its error is dropped, as reading the same rows again raises it again."""
        if reading is not None:
            reading.next_part.exception()
            self._thread.submit(reading.parts.close).result()
