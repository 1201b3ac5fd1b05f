"""A segment's file as it grows: new sections since the last look, in order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from connectors.cassandra.log.index_file import Progress
from connectors.cassandra.log.segment import (
    CorruptSegmentError,
    Frame,
    Header,
    Section,
    frames,
    parse_header,
    read_section,
)


class FileBytes:
    """The bytes of a file, read where they are asked for. Not mapped: the node may shorten the file meanwhile."""

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
        """`position`: the logical one to go on from."""
        self.path = path
        self.position = position
        """Behind the last frame that was given."""
        self._data = FileBytes(path)
        self._header: Header | None = None
        self._file_at = self._logical_at = 0
        self._section: tuple[Section, Iterator[Frame]] | None = None
        """The section that is being read, and what is left of it."""

    @property
    def version(self) -> int:
        """The version of the commit log, known once a frame was given."""
        assert self._header is not None
        return self._header.version

    def frames(self, progress: Progress) -> Iterator[Frame]:
        """Frames that were not given before, as far as the segment may be read; the iterator ends there.

        CorruptSegmentError: a completed segment holds bytes that the node did not write. One that is still written is
        read again with the next call.
        """
        try:
            yield from self._frames(progress)
        except CorruptSegmentError:
            self._section = None
            if progress.completed:
                raise

    def close(self) -> None:
        """Close the file."""
        self._data.close()

    def _frames(self, progress: Progress) -> Iterator[Frame]:
        if self._header is None:
            self._header = parse_header(self._data)
            if self._header is None:
                if progress.completed:
                    raise CorruptSegmentError("The segment has no whole header.", 0)
                return
            self._file_at = self._logical_at = self._header.size
        while self._section is not None or progress.completed or self._logical_at < progress.synced:
            if self._section is None:
                section = read_section(self._data, self._header, self._file_at, self._logical_at)
                if section is None:
                    return
                self._section = section, frames(section)
            section, left = self._section
            for frame in left:
                if frame.end > self.position:
                    self.position = frame.end
                    yield frame
            self._file_at, self._logical_at = section.next_file, section.end
            self._section = None
