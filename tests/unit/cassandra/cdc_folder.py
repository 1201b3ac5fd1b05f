"""Provides a folder of commit-log segments in which a node writes, and reads it as the agent does in tests."""

from __future__ import annotations

import os
from pathlib import Path

from cdc_fixtures import frames_in
from segment_writer import segment

from connectors.cassandra.log.segments.folder import CdcFolder
from connectors.cassandra.log.segments.place import Place
from connectors.cassandra.log.segments.segment_reader import Segments


class Folder:
    """A cdc_raw folder in which a node writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, number: int, *bodies: bytes, completed: bool = True) -> None:
        data = segment([[body + b" " * 10] for body in bodies], segment_id=number)
        log = self.path / f"CommitLog-8-{number}.log"
        log.write_bytes(data + bytes(100))
        if not completed:
            self.in_use(log)
        (self.path / f"CommitLog-8-{number}_cdc.idx").write_text(f"{len(data)}" + "\nCOMPLETED" * completed)

    def in_use(self, log: Path) -> None:
        """The node's own commit log has the file too."""
        used = self.path.with_name(f"{self.path.name}_commitlog")
        used.mkdir(exist_ok=True)
        (used / log.name).unlink(missing_ok=True)
        os.link(log, used / log.name)

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


def bodies(segments: Segments, most: int = 100) -> list[bytes]:
    return [frame.body.strip() for frame in frames_in(segments.frames(most, 10**9))]


def read(segments: Segments) -> list[bytes]:
    """Return what comes next, until nothing does."""
    found: list[bytes] = []
    before: Place | None = None
    idle = 0
    while idle < 3:
        frames = bodies(segments)
        if frames:
            segments.has_changes()
        place = segments.place()
        found += frames
        idle = 0 if frames or place != before or segments.is_passing else idle + 1
        before = place
    return found


def begun(folder: Folder, place: Place | None = None) -> Segments:
    segments = Segments(CdcFolder(folder.path))
    segments.begin(place)
    return segments


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def index_of(folder: Folder, number: int) -> Path:
    return folder.path / f"CommitLog-8-{number}_cdc.idx"
