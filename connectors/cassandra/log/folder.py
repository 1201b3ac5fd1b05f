"""The node's folder of commit log segments for change data capture (`cdc_raw`)."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connectors.cassandra.log.index_file import Progress, parse_index

_INDEX: Final = re.compile(r"CommitLog-(?P<version>\d+)-(?P<id>\d+)_cdc\.idx")


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """A segment with changes of tables with change data capture, and its index file."""

    id: int
    log: Path
    index: Path

    def progress(self) -> Progress | None:
        """How far the segment may be read; None while the node is writing that."""
        try:
            return parse_index(self.index.read_text())
        except FileNotFoundError:
            return None

    @property
    def are_there(self) -> bool:
        """Whether both files still exist."""
        return self.log.exists() and self.index.exists()

    def delete(self) -> None:
        """Remove both files; no error if one is gone. The index goes last: without it nobody looks at the segment."""
        self.log.unlink(missing_ok=True)
        self.index.unlink(missing_ok=True)

    def move(self, folder: Path) -> None:
        """Move both files into another folder of the same filesystem; no error if one is gone."""
        folder.mkdir(exist_ok=True)
        for path in (self.log, self.index):
            with suppress(FileNotFoundError):
                path.rename(folder / path.name)


class CdcFolder:
    """Lists segments, oldest first. A segment without an index file has nothing yet, and is the node's alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def damaged(self) -> Path:
        """The folder for segments that could not be read whole; beside this one, so that the node does not count it."""
        return self.path.with_name(f"{self.path.name}_damaged")

    def size_bytes(self) -> int:
        """The part of the node's cdc_total_space that the segments take: whole files, however little is in them yet."""
        size = 0
        for entry in self.path.iterdir():
            with suppress(FileNotFoundError):
                size += entry.stat().st_size
        return size

    def segments(self) -> list[SegmentFiles]:
        """The segments that may be read. ConnectError: the folder is missing, or cannot be read."""
        try:
            names = [entry.name for entry in self.path.iterdir()]
        except OSError as error:
            raise ConnectError(
                f"The folder {self.path} cannot be listed: {error.strerror}.",
                key="cdc.raw.folder",
                fix="Name the node's cdc_raw_directory, set cdc_enabled: true in its cassandra.yaml, and run the agent "
                "as a user who may read and delete there.",
            ) from error
        found = [match for name in names if (match := _INDEX.fullmatch(name))]
        segments = (self._files(match) for match in found)
        # By id, never by time: a restart touches old files.
        return sorted((s for s in segments if s.log.exists()), key=lambda segment: segment.id)

    def _files(self, match: re.Match[str]) -> SegmentFiles:
        index = self.path / match.group()
        log = self.path / f"CommitLog-{match['version']}-{match['id']}.log"
        return SegmentFiles(int(match["id"]), log, index)
