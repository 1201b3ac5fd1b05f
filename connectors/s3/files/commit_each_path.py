"""Ends each file by itself, and commits the least offset of a row that is in no object yet. Pure.

As this offset may be in the middle of objects, the sink has to know how far the objects of each path reach.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np

from connectors.s3.files.intake import Admitted
from connectors.s3.files.open_files import OpenFile, OpenFiles
from connectors.s3.files.rotation import Rules
from connectors.s3.files.spool import Ints, stable_order
from connectors.s3.paths.layout import Place


class EachPath:
    """Counts the rows of each file by itself, and ends it by these counts. The task thread owns it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._most_bytes = math.inf if rules.size_bytes is None else rules.size_bytes
        self._next_end_ms: int | None = None

    @property
    def ends_by_poll(self) -> bool:
        """Return True if partitioner.max.open.files is set, as it counts the files that are open after each poll."""
        return self._rules.max_paths is not None

    def assign(self, part: Admitted, files: OpenFiles, at_ms: int, *, is_consecutive: bool) -> Ints:  # noqa: ARG002 - the interface has the argument, and other rules use it
        """Return the number of the file of each row. Files that are full end."""
        work = _Part(part, files, at_ms)
        if self._may_end_by_time(work):
            self._walk_all(work)
        else:
            self._count_all(work)
        files.rows_taken += work.length
        return work.numbers

    def settle(self, files: OpenFiles) -> None:
        """End files behind the last row of a poll, as the rules say. All rows of the poll are assigned."""
        most = self._rules.rows * len(files)
        files.end([file for file in files.by_place.values() if file.is_full])
        if self._rules.ends_slow_files:
            # A path with few rows would keep the offset of all others from being committed. So a file also ends once
            # the topic partition had as many rows as would fill all open files. That makes at most twice as many files
            # as if each were filled.
            files.end([file for file in files.by_place.values() if files.rows_taken - file.began_rows >= most])
        if self._rules.max_paths is not None and len(files) > self._rules.max_paths:
            oldest = sorted(files.by_place.values(), key=lambda file: file.first_offset)
            files.end(oldest[: len(files) - self._rules.max_paths])

    def end(self, files: Collection[OpenFile], open_files: OpenFiles) -> None:
        """End these files."""
        open_files.end(files)

    def durable(self, least_open: int | None, position: int | None, reach: int) -> int | None:  # noqa: ARG002 - the interface has the argument, and other rules use it
        """Return the next offset to commit.

        `least_open` is the offset of the first row that is in no object yet, or None if there is none. `position` is
        the next offset to read.
        """
        return position if least_open is None else least_open

    def _may_end_by_time(self, work: _Part) -> bool:
        if self._rules.interval_ms is None or work.times is None:
            return False
        first, last = int(work.times.min()), int(work.times.max())
        least = first + self._rules.interval_ms
        self._next_end_ms = least if self._next_end_ms is None else min(least, self._next_end_ms)
        return last >= self._next_end_ms

    def _count_all(self, work: _Part) -> None:
        """Count the rows of each group at once. Groups that fill their file are walked through instead."""
        numbers = []
        walked = []
        for group, (first, last, rows) in enumerate(work.ends()):
            place = work.places[group]
            file = work.file(place, first, group, 0)
            size_bytes = work.size_bytes(group)
            numbers.append(file.number)
            if file.is_full or file.rows + rows >= self._rules.rows or file.size_bytes + size_bytes >= self._most_bytes:
                walked.append(group)
            else:
                work.date(file, int(work.rows(group)[0]))
                file.size_bytes += size_bytes
                file.add(rows, last, work.at_ms)
        work.numbers[:] = np.array(numbers, np.int64)[work.groups]
        for group in walked:
            self._walk(work, group)

    def _walk_all(self, work: _Part) -> None:
        for group in range(len(work.places)):
            self._walk(work, group)
        assert self._rules.interval_ms is not None
        assert work.times is not None
        interval_ms, last_ms = self._rules.interval_ms, int(work.times.max())
        late = [f for f in work.files.by_place.values() if f.base_ms is not None and f.base_ms + interval_ms <= last_ms]
        # The walk has ended the files of this part that the time ends; files without rows in this part are ended here.
        absent = set(work.places)
        work.files.end([file for file in late if file.place not in absent])
        bases = (file.base_ms for file in work.files.by_place.values() if file.base_ms is not None)
        self._next_end_ms = min((base + interval_ms for base in bases), default=None)

    def _walk(self, work: _Part, group: int) -> None:
        """Give the rows of a group to files of their place, one file after the other."""
        rows, place = work.rows(group), work.places[group]
        at = 0
        while at < len(rows):
            file = work.file(place, int(work.offsets[rows[at]]), group, at)
            if file.is_full and file.last_offset < work.offsets[rows[at]]:
                work.files.end([file])
                continue
            end = self._end(work, file, rows, at)
            stop = work.behind_record(rows, min(end, len(rows)), file, at)
            if stop > at:
                work.date(file, int(rows[at]))
                work.numbers[rows[at:stop]] = file.number
                file.size_bytes += work.sizes(rows[at:stop])
                file.add(stop - at, int(work.offsets[rows[stop - 1]]), work.at_ms)
            file.is_full = file.is_full or end <= len(rows)
            at = stop

    def _end(self, work: _Part, file: OpenFile, rows: Ints, at: int) -> int:
        """Return the number of the row before which the file ends; a number beyond the last row: the file goes on."""
        end = at + max(self._rules.rows - file.rows, 0)
        if self._rules.size_bytes is not None:
            assert work.size_of_rows is not None
            sums = np.cumsum(work.size_of_rows[rows[at:]])
            full = int(np.searchsorted(sums, self._rules.size_bytes - file.size_bytes)) + at + 1
            end = min(end, full)
        if self._rules.interval_ms is not None and work.times is not None:
            base = file.base_ms if file.base_ms is not None else int(work.times[int(rows[at])])
            since = 0 if file.rows else int(rows[at])
            late = np.flatnonzero(work.times[since:] >= base + self._rules.interval_ms)
            if len(late):
                end = min(end, max(at, int(np.searchsorted(rows, since + late[0]))))
        return end


class _Part:
    """Holds the rows of a part, grouped by their place."""

    def __init__(self, part: Admitted, files: OpenFiles, at_ms: int) -> None:
        facts = part.facts
        self.files = files
        self.at_ms = at_ms
        self.length = facts.length
        self.offsets = part.consumed.offsets.to_numpy()
        self.times = None if facts.epoch_ms is None else facts.epoch_ms.to_numpy()
        self.size_of_rows = None if facts.sizes_end is None else np.diff(np.asarray(facts.sizes_end), prepend=0)
        self.numbers = np.empty(facts.length, np.int64)
        codes = np.zeros(facts.length, np.int32) if facts.codes is None else facts.codes.to_numpy()
        self._order = stable_order(codes)
        ordered = codes[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        self._stops = np.append(self._starts[1:], facts.length)
        self.places = [Place(part.topic, facts.names[code]) for code in ordered[self._starts].tolist()]
        self.groups = np.empty(facts.length, np.int64)
        self.groups[self._order] = np.repeat(np.arange(len(self.places)), self._stops - self._starts)

    def ends(self) -> Iterator[tuple[int, int, int]]:
        """Return the first offset, the last offset and the number of rows of each group."""
        firsts = self.offsets[self._order[self._starts]].tolist()
        lasts = self.offsets[self._order[self._stops - 1]].tolist()
        return zip(firsts, lasts, (self._stops - self._starts).tolist(), strict=True)

    def rows(self, group: int) -> Ints:
        """Return the rows of a group, ascending."""
        return self._order[self._starts[group] : self._stops[group]]

    def size_bytes(self, group: int) -> int:
        """Return the bytes of the rows of a group; 0 if no rule asks for sizes."""
        return 0 if self.size_of_rows is None else self.sizes(self.rows(group))

    def sizes(self, rows: Ints) -> int:
        """Return the bytes of rows; 0 if no rule asks for sizes."""
        return 0 if self.size_of_rows is None else int(self.size_of_rows[rows].sum())

    def file(self, place: Place, first_offset: int, group: int, at: int) -> OpenFile:
        """Return the open file of a place, for the rows of its group from row `at` on."""
        file = self.files.at(place, first_offset, self.at_ms)
        if file.rows == 0:
            file.began_rows = self.files.rows_taken + int(self._order[self._starts[group] + at])
        return file

    def date(self, file: OpenFile, row: int) -> None:
        """Set the time of a file to that of this row, if it is the file's first one."""
        if file.rows == 0 and self.times is not None:
            file.base_ms = int(self.times[row])

    def behind_record(self, rows: Ints, stop: int, file: OpenFile, at: int) -> int:
        """Return `stop`, moved so that it does not part the rows of one record.

        A transform may make several rows of one record, which have the same offset. An object has all of them or none,
        as the next object starts at an offset.
        """
        last = self.offsets[rows[stop - 1]] if stop > at else file.last_offset
        while stop < len(rows) and self.offsets[rows[stop]] == last:
            stop += 1
        return stop
