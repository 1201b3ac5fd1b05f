"""Reads a segment's file as it grows: the new mutations since the last look, in order."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from connectors.cassandra.log.segments.index_file import SegmentProgress
from connectors.cassandra.log.segments.segment import (
    CorruptSegmentError,
    Frames,
    Header,
    joined,
    parse_header,
    read_frames,
    read_section,
)


class FileBytes:
    """The bytes of a file, which are read when asked for. It is not mapped, as the node may shorten it meanwhile."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __len__(self) -> int:
        return os.fstat(self._descriptor).st_size

    def __getitem__(self, part: slice) -> bytes:
        start = part.start or 0
        return os.pread(self._descriptor, part.stop - start, start)

    def close(self) -> None:
        """Close the file. May be called once."""
        os.close(self._descriptor)


class SegmentFile:
    """Reads the mutations of one segment behind a position. Owned by one thread."""

    def __init__(self, path: Path, position: int = 0) -> None:
        """`position` is the logical position to read from."""
        self.path = path
        self.position = position
        """The position behind the last frame that was given."""
        self.is_at_end = False
        """True if there was nothing behind what was given last."""
        self._data = FileBytes(path)
        self._header: Header | None = None
        self._file_at = self._logical_at = 0
        self._left: Frames | None = None
        """The frames of the section that was read last and were not given yet."""
        self._damage: CorruptSegmentError | None = None
        """The error that tells what is wrong with the mutation behind these; None where nothing is."""

    def frames(self, progress: SegmentProgress, most: int, most_bytes: int) -> Frames | None:
        """Mutations that were not given before, as far as the segment may be read now; None: there are no more.

        So many at most, and as many bytes, or one mutation. CorruptSegmentError: a completed segment holds bytes that
        the node did not write. One that is still written is read again with the next call.
        """
        parts: list[Frames] = []
        self.is_at_end = False
        while most > 0 and most_bytes > 0:
            try:
                left = self._next(progress)
                if left is None and progress.completed:
                    self._check_end(progress)
            except CorruptSegmentError:
                if parts:
                    break  # the next call says it
                if progress.completed:
                    raise
                return None
            self.is_at_end = left is None
            if left is None:
                break
            sizes = np.cumsum(left.sizes[:most])
            part = left.part(0, min(most, int(np.searchsorted(sizes, most_bytes, "left")) + 1))
            self._left = left.part(len(part))
            self.position = int(part.ends[-1])
            parts.append(part)
            most -= len(part)
            most_bytes -= int(part.sizes.sum())
        return joined(parts) if parts else None

    def close(self) -> None:
        """Close the file."""
        self._data.close()

    def _check_end(self, progress: SegmentProgress) -> None:
        """Raise CorruptSegmentError if the segment ends before the end that its index file tells."""
        if self._logical_at < progress.synced != len(self._data):
            told = f"the index file tells of {progress.synced}"
            raise CorruptSegmentError(f"The segment has {self._logical_at} bytes of changes; {told}.", self._file_at)

    def _next(self, progress: SegmentProgress) -> Frames | None:
        """Return the frames that are left of this section, or of the next one with some behind the position."""
        while self._left is None or not len(self._left):
            damage, self._damage = self._damage, None
            if damage is not None:
                self._left = None
                raise damage
            if not self._read_section(progress):
                return None
        return self._left

    def _read_section(self, progress: SegmentProgress) -> bool:
        if self._header is None:
            self._header = parse_header(self._data)
            if self._header is None:
                if progress.completed:
                    raise CorruptSegmentError("The segment has no whole header.", 0)
                return False
            self._file_at = self._logical_at = self._header.size
        if not progress.completed and self._logical_at >= progress.synced:
            return False
        section = read_section(self._data, self._header, self._file_at, self._logical_at)
        if section is None:
            return False
        found, self._damage = read_frames(section, self._header)
        self._left = found.part(int(np.searchsorted(found.ends, self.position, "right")))
        if self._damage is None:
            self._file_at, self._logical_at = section.next_file, section.end
        return True
