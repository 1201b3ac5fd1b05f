"""Reads a node's segments one after the other, and knows which of them may be deleted."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from connectors.cassandra.log.segments.folder import CdcFolder, SegmentFiles
from connectors.cassandra.log.segments.index_file import SegmentProgress
from connectors.cassandra.log.segments.place import Place
from connectors.cassandra.log.segments.segment import CorruptSegmentError, Frames, UnsupportedSegmentError
from connectors.cassandra.log.segments.segment_file import SegmentFile

log = logging.getLogger(__name__)

_LOOK_S: Final = 1.0
"""How often the folder is listed while a segment is read."""
_BROKEN_S: Final = 10.0
"""The node needs a moment to write an index file: one that tells nothing for longer is broken."""
_MOST_SAID: Final = 20
"""So many places of a segment that cannot be read are named in the log, the others counted."""
_TO_END: Final = SegmentProgress(0, completed=True)


class Segments:
    """Reads every segment of the folder once, the oldest first. Owned by the task thread."""

    def __init__(self, folder: CdcFolder, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock_s = clock_s
        self._resumed: dict[int, Place] = {}
        """Where an earlier run was in segments that were not opened yet."""
        self._files: SegmentFiles | None = None
        self._open: SegmentFile | None = None
        self._finished = False
        self._to_end = False
        """The segment is complete though its index file does not say it."""
        self._has_changes = False
        self._unstored: deque[SegmentFiles] = deque()
        """The segments that are not deleted yet, in the order of reading; the last one is being read."""
        self._awaited: dict[int, SegmentFiles] = {}
        """Segments with changes that are there and not read yet."""
        self._gone: set[int] = set()
        """Segments that are lost."""
        self._passed_to = 0
        """Up to this one, segments without an index file were read, have no changes and are left to the node."""
        self._damaged: dict[int, int] = {}
        """Segments of which not all can be read: in how many places."""
        self._next_look_s = self._broken_since_s = float("-inf")
        self.waits: str | None = None
        """Why nothing is read, for people, where that may last."""
        self.lost_segments = self.unread_places = 0
        self.is_drained = False
        """True if the last call of `frames` found nothing that the node has written and that was not given."""

    def begin(self, place: Place | None) -> None:
        """Go on behind this place.

        A segment that the place does not tell of is read, also an older one: it had no changes when others were read.
        """
        known = {} if place is None else {one.segment: one for one in (place, *place.others)}
        self._passed_to = 0 if place is None else place.passed
        for files in self._folder.all_segments():
            one = known.get(files.id)
            if one is not None and one.finished:
                self._release(files, damaged=one.damaged)
            elif one is not None:
                self._resumed[files.id] = one

    def frames(self, most: int, most_bytes: int) -> Frames | None:
        """Mutations not given before, of one segment, as far as they may be read now: so many, and so many bytes.

        UnsupportedSegmentError: it is of a kind that is not read here.
        """
        self.is_drained = False
        if self._finished or self._files is None:
            self._next_segment()
        elif self._clock_s() >= self._next_look_s:
            self._look()
        if self._finished or self._files is None or self._open is None:
            self.is_drained = not self._awaited
            return None
        if not self._files.log.exists():
            self._lose(self._files)
            self._finished = True
            return None
        progress = self._progress(self._files)
        if progress is None:
            return None
        try:
            found = self._open.frames(progress, most, most_bytes)
        except (CorruptSegmentError, UnsupportedSegmentError) as error:
            if self._is_nodes_own:
                self._leave(self._files, error)
            elif isinstance(error, UnsupportedSegmentError):
                raise
            else:
                self.keep(f"{error} What follows in it cannot be read.")
            self._finished = True
            return None
        self._finished = progress.completed and self._open.is_at_end
        self.is_drained = found is None and self._open.is_at_end and not self._awaited
        return found

    def has_changes(self) -> None:
        """Hear that this segment has changes of watched tables: it is deleted in the end, with or without an index."""
        if self._files is not None and not self._files.has_index and not self._has_changes:
            log.warning("Segment %s has changes and no index file, which is lost: all of it is sent.", self._files.log)
        self._has_changes = True

    def keep(self, why: str) -> None:
        """Keep this segment, as a part of it could not be read: it is put aside in the end instead of deleted."""
        assert self._files is not None
        self.unread_places += 1
        count = self._damaged[self._files.id] = self._damaged.get(self._files.id, 0) + 1
        if count <= _MOST_SAID:
            log.error(
                "Segment %s is damaged, and will be kept in %s: %s Other replicas' logs hold the same changes.%s",
                self._files.log, self._folder.damaged, why,
                " Further places of it are counted in the metric unread_places." if count == _MOST_SAID else "",
            )  # fmt: skip

    def place(self) -> Place | None:
        """Return the place behind the mutation that was given last; None where there is none to go on from.

        That is so before the first segment, and in one without an index file that has no changes: it is the node's.
        """
        if self._files is None or self._open is None or self._files.id in self._gone or self._is_nodes_own:
            return None
        read = [Place(files.id, 0, True, files.id in self._damaged) for files in self._unstored]
        others = (*(other for other in read if other.segment != self._files.id), *self._resumed.values())
        is_damaged = self._files.id in self._damaged
        return Place(self._files.id, self._open.position, self._finished, is_damaged, others, self._passed_to)

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

    @property
    def waiting_segments(self) -> int:
        """Return how many segments with changes were not wholly stored at the last look."""
        return len({files.id for files in self._unstored} | self._awaited.keys())

    @property
    def unread_bytes(self) -> int | None:
        """Return how much of the segments with changes was not read, as their index files tell; None: one does not."""
        unread = [] if self._files is None or self._finished or not self._files.has_index else [self._files]
        progress = [files.progress() for files in (*unread, *self._awaited.values())]
        known = [one.synced for one in progress if one is not None]
        read = self._open.position if unread and self._open is not None else 0
        return max(0, sum(known) - read) if len(known) == len(progress) else None

    @property
    def is_at_end(self) -> bool:
        """Return True if all that the node has written was given, and the segment goes on."""
        return self._open is not None and self._open.is_at_end and not self._finished and not self._awaited

    @property
    def is_passing(self) -> bool:
        """Return True if the segment just read to its end is left to the node, and there may be a next one."""
        return self._finished and self._is_nodes_own

    @property
    def _is_nodes_own(self) -> bool:
        """Return True if the segment that is read is one without changes, as far as it was read."""
        return self._files is not None and not self._files.has_index and not self._has_changes

    def _progress(self, files: SegmentFiles) -> SegmentProgress | None:
        """Return how far this segment may be read; None: wait."""
        progress = files.progress()
        if progress is not None and progress.completed:
            self.waits = None
            return progress
        if self._to_end:
            return _TO_END
        if progress is not None:
            self._broken_since_s = float("-inf")
            self.waits = None
        elif self._broken_since_s == float("-inf"):
            self._broken_since_s = self._clock_s()
        elif self.waits is None and self._clock_s() >= self._broken_since_s + _BROKEN_S:
            self.waits = (
                f"The index file {files.index} is broken or gone, and does not tell how far its segment may be read: "
                "the node writes it again with the next change, or else the segment is read to its end once a later "
                "one has changes or the node has let it go (nodetool flush)."
            )
            log.error("%s", self.waits)
        return progress

    def _look(self) -> list[SegmentFiles]:
        """List the folder: what vanished before it was read is lost, and the node may be done with this segment."""
        self._next_look_s = self._clock_s() + _LOOK_S
        for files in self._awaited.values():
            if not files.log.exists():
                self._lose(files)
        found = self._folder.segments()
        known = {files.id for files in self._unstored} | self._gone
        self._awaited = {files.id: files for files in found if files.has_index and files.id not in known}
        if self._files is not None and not self._finished and not self._to_end:
            self._to_end = self._is_complete(self._files)
        return found

    def _is_complete(self, files: SegmentFiles) -> bool:
        """Tell if the node is done with a segment though its index file does not say it."""
        if not self._folder.is_complete(files):
            return False
        # In this order: the node may have told it in the meantime.
        progress = files.progress()
        if progress is not None and progress.completed:
            return False
        log.warning("The index file %s does not say that its segment is complete. It is: all is read.", files.index)
        return True

    def _next_segment(self) -> None:
        self._pass()
        for files in self._look():
            if not files.has_index and files.id <= self._passed_to:
                continue
            if any(files.id == other.id for other in self._unstored):
                continue
            self.close()
            resumed = self._resumed.pop(files.id, None)
            try:
                self._open = SegmentFile(files.log, resumed.position if resumed is not None else 0)
            except FileNotFoundError:
                self._lose(files)
                continue
            self._awaited.pop(files.id, None)
            self._gone.discard(files.id)
            self._files = files
            if resumed is not None and resumed.damaged:
                self._damaged.setdefault(files.id, 0)
            self._finished, self._to_end = False, not files.has_index
            self._has_changes = resumed is not None
            self._broken_since_s, self.waits = float("-inf"), None
            self._unstored.append(files)
            return

    def _pass(self) -> None:
        """Leave the segment that was read to its end to the node, where it has no index file and no changes."""
        if self._files is not None and self._is_nodes_own and self._unstored and self._unstored[-1] is self._files:
            self._passed_to = max(self._passed_to, self._unstored.pop().id)

    def _leave(self, files: SegmentFiles, error: Exception) -> None:
        log.error("Segment %s has no index file and cannot be read: %s It is left to the node.", files.log, error)

    def _lose(self, files: SegmentFiles) -> None:
        if files.id in self._gone:
            return
        self._gone.add(files.id)
        self.lost_segments += 1
        log.error(
            "Segment %s was deleted before all of its changes were read: changes are lost on this node. Let nothing "
            "but the agent delete there, and keep cdc_block_writes: true.", files.log
        )  # fmt: skip

    def _release(self, files: SegmentFiles, *, damaged: bool = False) -> None:
        if damaged or files.id in self._damaged:
            files.move(self._folder.damaged)
        else:
            files.delete()
