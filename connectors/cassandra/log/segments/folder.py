"""Reads the node's folder of commit log segments for change data capture (`cdc_raw`)."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connectors.cassandra.log.segments.index_file import SegmentProgress, parse_index

_NAME: Final = re.compile(r"CommitLog-(?P<version>\d+)-(?P<id>\d+)(?P<kind>\.log|_cdc\.idx)")


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """A segment and its index file, which it has once it has changes of tables with change data capture.

    `has_index`, `has_log`: whether the files were there when the folder was listed.
    """

    id: int
    log: Path
    index: Path
    has_index: bool = True
    has_log: bool = True

    def progress(self) -> SegmentProgress | None:
        """Return how far the segment may be read; None where the index file does not say it (now)."""
        try:
            return parse_index(self.index.read_bytes().decode("ascii", "replace"))
        except FileNotFoundError:
            return None

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
    """A folder that is listed by its segments, oldest first.

    The node synchronises its segments in their order, and writes the index file of one that has changes then. So once a
    later segment has an index file, an earlier one does not change any more, and has its own if it has changes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def damaged(self) -> Path:
        """Return the folder for segments that cannot be read whole, beside this one, so that no node counts it."""
        return self.path.with_name(f"{self.path.name}_damaged")

    def count_damaged(self) -> int:
        """Return the number of segments that are kept as they could not be read whole."""
        return sum(1 for _ in self.damaged.glob("*.log")) if self.damaged.is_dir() else 0

    def size_bytes(self) -> int:
        """Return the share of cdc_total_space that segments take: a file counts whole, however little it holds."""
        size = 0
        for entry in self.path.iterdir():
            with suppress(FileNotFoundError):
                size += entry.stat().st_size
        return size

    def segments(self) -> list[SegmentFiles]:
        """Return the segments that may be read: those with an index file, and those that should have one if they have
        changes.

        ConnectError: the folder is missing, or cannot be read.
        """
        found = self.all_segments()
        newest = max((files.id for files in found if files.has_index and files.has_log), default=0)
        return [files for files in found if files.has_index or files.id < newest or _is_let_go(files)]

    def is_complete(self, files: SegmentFiles) -> bool:
        """Tell if the node writes to a segment no more, whatever its index file says. ConnectError: as `segments`."""
        later = any(other.id > files.id and other.has_index and other.has_log for other in self.all_segments())
        return later or _is_let_go(files)

    def all_segments(self) -> list[SegmentFiles]:
        """Return every segment of which there is a file. ConnectError: the folder is missing, or cannot be read."""
        try:
            names = [entry.name for entry in self.path.iterdir()]
        except OSError as error:
            raise ConnectError(
                f"The folder {self.path} cannot be listed: {error.strerror}.",
                key="cdc.raw.folder",
                fix="Name the node's cdc_raw_directory, set cdc_enabled: true in its cassandra.yaml, and run the agent "
                "as a user who may read and delete there.",
            ) from error
        kinds: dict[tuple[int, str], set[str]] = {}
        for name in names:
            if match := _NAME.fullmatch(name):
                kinds.setdefault((int(match["id"]), match["version"]), set()).add(match["kind"])
        # By id, never by time: a restart touches old files.
        return [self._files(*place, kinds[place]) for place in sorted(kinds)]

    def _files(self, number: int, version: str, kinds: Collection[str]) -> SegmentFiles:
        log, index = (self.path / f"CommitLog-{version}-{number}{kind}" for kind in (".log", "_cdc.idx"))
        return SegmentFiles(number, log, index, "_cdc.idx" in kinds, ".log" in kinds)


def _is_let_go(files: SegmentFiles) -> bool:
    """Tell if the node has let a segment go: its file has no other name any more, as the node's commit log had it.

    A segment without changes loses this name as well then.
    """
    try:
        return files.log.stat().st_nlink == 1
    except FileNotFoundError:
        return False
