"""Ends all files of a topic partition together, and commits only the offsets at which they ended. Pure.

So reading never goes on in the middle of an object, and the sink need not know which objects are in the bucket. With
many paths the files are small. It is used for stores without conditional writes, and for brokers that give topics no
ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

import numpy as np

from connectors.s3.files.intake import Admitted
from connectors.s3.files.open_files import OpenFile, OpenFiles
from connectors.s3.files.rotation import Group, Rules, group_end, is_full
from connectors.s3.files.spool import Ints
from connectors.s3.paths.layout import Place


class CommonRotation:
    """Counts the rows of all open files together, and ends all files by these counts. The task thread owns it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._group = Group()
        self._ends: deque[int] = deque()
        self._last_offset = -1
        self._is_full = False
        self._durable: int | None = None

    ends_by_poll = True

    def assign(self, part: Admitted, files: OpenFiles, at_ms: int, *, is_consecutive: bool) -> Ints:
        """Return the number of the file of each row. When a rule ends one file, all files end."""
        facts, start = part.facts, 0
        offsets = part.consumed.offsets.to_numpy()
        numbers = np.empty(facts.length, np.int64)
        if not is_consecutive:
            # Rows of this poll may still be missing in between, so files may end only before it or behind it.
            self._add(part, files, (0, facts.length), numbers, at_ms)
            self._last_offset = max(self._last_offset, int(offsets[-1]))
            self._is_full = self._is_full or is_full(self._rules, self._group, facts)
            return numbers
        while start < facts.length:
            if self._is_full and offsets[start] > self._last_offset:
                self._end(files)
            end = group_end(self._rules, self._group, part.topic, facts, start)
            stop = facts.length if end is None else end
            if end is not None:
                # A transform may make several rows of one record. They have the same offset, and must be in the same
                # object.
                last = int(offsets[stop - 1]) if stop > start else self._last_offset
                stop = max(stop, int(np.searchsorted(offsets, last, side="right")))
            if stop > start:
                self._add(part, files, (start, stop), numbers, at_ms)
                self._last_offset = int(offsets[stop - 1])
            self._is_full = self._is_full or end is not None
            start = stop
        return numbers

    def settle(self, files: OpenFiles) -> None:
        """End the files behind the last row of a poll if they are full. All rows of the poll are assigned."""
        if self._is_full:
            self._end(files)

    def end(self, files: Collection[OpenFile], open_files: OpenFiles) -> None:  # noqa: ARG002 - one is as good as all
        """End all files, as one of them is to end."""
        self._end(open_files)

    def durable(self, least_open: int | None, position: int | None, reach: int) -> int | None:
        """Return the next offset to commit: one at which all files ended and which no object goes beyond.

        `least_open` is the offset of the first row that is in no object yet, or None if there is none. `position` is
        the next offset to read. `reach` is the offset behind the last row that any object has.
        """
        while self._ends and (least_open is None or self._ends[0] <= least_open):
            end = self._ends.popleft()
            self._durable = end if reach <= end else self._durable
        if least_open is None and position is not None and reach <= position:
            self._durable = position
        return self._durable

    def _end(self, files: OpenFiles) -> None:
        files.end_all()
        self._ends.append(self._last_offset + 1)
        self._group, self._is_full = Group(), False

    def _add(self, part: Admitted, files: OpenFiles, rows: tuple[int, int], numbers: Ints, at_ms: int) -> None:
        facts, (start, stop) = part.facts, rows
        codes = np.zeros(facts.length, np.int32) if facts.codes is None else facts.codes.to_numpy()
        own = codes[start:stop]
        found, firsts, places = np.unique(own, return_index=True, return_inverse=True)
        offsets = part.consumed.offsets
        lasts = stop - 1 - np.unique(own[::-1], return_index=True)[1]
        chosen = []
        for code, first, last in zip(found.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
            place = Place(part.topic, facts.names[code])
            file = files.at(place, offsets[start + first].as_py(), at_ms)
            file.add(0, offsets[last].as_py(), at_ms)
            chosen.append(file.number)
        numbers[start:stop] = np.array(chosen, np.int64)[places]
        self._group.add(part.topic, facts, [facts.names[code] for code in found.tolist()], start, stop)
