"""Reads a node's segments one after the other, and knows which of them may be deleted."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect.api.errors import ConnectError
from connectors.cassandra.log.folder import CdcFolder, SegmentFiles
from connectors.cassandra.log.segment import CorruptSegmentError, Frames
from connectors.cassandra.log.segment_file import SegmentFile

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Behind a mutation: its segment and the logical position.

    `finished`: behind all there is in the segment; `damaged`: not all of it could be read, and it is kept.
    """

    segment: int
    position: int
    finished: bool
    damaged: bool = False

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Place | None:
        """The place in a source offset. ConnectError: the offset holds none."""
        if offset is None:
            return None
        segment, position = offset.get("segment"), offset.get("position")
        if not isinstance(segment, int) or not isinstance(position, int):
            raise ConnectError(
                f"The stored offset {dict(offset)} names no place in the commit log.",
                fix="Reset the agent's offset: all segments that are still there are then sent again.",
            )
        return cls(segment, position, offset.get("finished") is True, offset.get("damaged") is True)

    @property
    def offset(self) -> Mapping[str, object]:
        """The source offset."""
        damaged = {"damaged": True} if self.damaged else {}
        return {"segment": self.segment, "position": self.position, "finished": self.finished, **damaged}


class Segments:
    """Reads every segment of the folder once, the oldest first. Owned by the task thread."""

    def __init__(self, folder: CdcFolder) -> None:
        self._folder = folder
        self._begin: Place | None = None
        self._files: SegmentFiles | None = None
        self._open: SegmentFile | None = None
        self._finished = False
        self._unstored: deque[SegmentFiles] = deque()
        """The segments that are not deleted yet, in the order of reading; the last one is being read."""
        self._damaged: set[int] = set()

    def begin(self, place: Place | None) -> None:
        """Go on behind this place.

        An older segment that is still there is read: it had no changes yet when a later one was read, or it was not
        deleted before a crash.
        """
        self._begin = place
        if place is not None and place.finished:
            for files in self._folder.segments():
                if files.id == place.segment:
                    self._release(files, damaged=place.damaged)

    def frames(self, most: int, most_bytes: int) -> Frames | None:
        """Mutations not given before, of one segment, as far as they may be read now: so many, and so many bytes.

        UnsupportedSegmentError: it is of a kind that is not read here.
        """
        if self._finished or self._files is None:
            self._next_segment()
        if self._finished or self._files is None or self._open is None:
            return None
        if not self._files.are_there:
            self._lost(self._files)
            return None
        progress = self._files.progress()
        if progress is None:
            return None
        try:
            found = self._open.frames(progress, most, most_bytes)
        except CorruptSegmentError as error:
            self.keep(f"{error} What follows in it cannot be read.")
            self._finished = True
            return None
        self._finished = progress.completed and self._open.is_at_end
        return found

    def keep(self, why: str) -> None:
        """Keep this segment, as a part of it could not be read: it is put aside in the end instead of deleted."""
        assert self._files is not None
        if self._files.id not in self._damaged:
            self._damaged.add(self._files.id)
            log.error(
                "Segment %s is damaged, and will be kept in %s: %s Other replicas' logs hold the same changes.",
                self._files.log, self._folder.damaged, why,
            )  # fmt: skip

    def place(self) -> Place | None:
        """The place behind the mutation that was given last; None before the first segment."""
        if self._files is None or self._open is None:
            return None
        return Place(self._files.id, self._open.position, self._finished, self._files.id in self._damaged)

    def stored(self, place: Place) -> None:
        """Delete what is wholly in Kafka: the segments before this place, and its own where it is finished."""
        if not any(files.id == place.segment for files in self._unstored):
            return
        while self._unstored[0].id != place.segment:
            self._release(self._unstored.popleft())
        if place.finished:
            self._release(self._unstored.popleft(), damaged=place.damaged)

    def close(self) -> None:
        """Close the file that is open. May be called twice."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _release(self, files: SegmentFiles, *, damaged: bool = False) -> None:
        if damaged or files.id in self._damaged:
            files.move(self._folder.damaged)
        else:
            files.delete()

    def _next_segment(self) -> None:
        done = {files.id for files in self._unstored}
        for files in self._folder.segments():
            if files.id in done:
                continue
            self.close()
            resumed = self._begin if self._begin is not None and self._begin.segment == files.id else None
            try:
                self._open = SegmentFile(files.log, resumed.position if resumed is not None else 0)
            except FileNotFoundError:
                self._lost(files)
                continue
            self._files = files
            if resumed is not None and resumed.damaged:
                self._damaged.add(files.id)
            self._finished = False
            self._unstored.append(files)
            return

    def _lost(self, files: SegmentFiles) -> None:
        log.error(
            "Segment %s was deleted before all of its changes were read: changes are lost on this node. Let nothing "
            "but the agent delete there, and keep cdc_block_writes: true.", files.log
        )  # fmt: skip
        self._finished = True
