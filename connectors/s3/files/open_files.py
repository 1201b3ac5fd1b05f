"""Keeps the counts of the open files of one topic partition, and which files have ended. No rows, no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.s3.paths.layout import Place


@dataclass(slots=True)
class OpenFile:
    """Holds the counts of a file that takes rows. Times are in milliseconds.

    `began_rows` is the number of rows that its topic partition had before the file began. `base_ms` is the time of its
    first row for the rules, or None if no rule asks for times.
    """

    number: int
    place: Place
    first_offset: int
    opened_ms: int
    last_row_ms: int
    began_rows: int = 0
    base_ms: int | None = None
    last_offset: int = -1
    rows: int = 0
    size_bytes: int = 0
    is_full: bool = False

    def add(self, rows: int, last_offset: int, at_ms: int) -> None:
        """Count further rows. `last_offset` is the offset of the last one."""
        self.rows += rows
        self.last_offset = last_offset
        self.last_row_ms = at_ms


class OpenFiles:
    """Holds the open files of a topic partition, at most one per place. It is owned by the task thread.

    `position` is the next offset to read, or None if nothing was read. `ended` are files that have ended and whose rows
    are not encoded yet.
    """

    def __init__(self, partition: TopicPartition) -> None:
        self.position: int | None = None
        self._partition = partition
        self.by_place: dict[Place, OpenFile] = {}
        self.ended: list[OpenFile] = []
        self.rows_taken = 0
        self._numbers = 0
        self._begun: list[OpenFile] = []
        self._ends: dict[Place, int] = {}

    def __len__(self) -> int:
        return len(self.by_place)

    def at(self, place: Place, first_offset: int, at_ms: int) -> OpenFile:
        """Return the file for rows from this offset on. A place without an open file gets a new one.

        ConnectError: the offset is not behind the file's rows. They must ascend, as rows that are in an object already
        are cut off the file by their offsets. Or a file of the place has ended between rows of this offset: the rest
        would be cut off the next file.
        """
        file = self.by_place.get(place)
        if file is None:
            if first_offset <= self._ends.get(place, -1):
                raise self._parted(place, first_offset)
            return self._begin(place, first_offset, at_ms)
        if first_offset < file.last_offset:
            where = f"{self._partition.topic}-{self._partition.partition}"
            raise ConnectError(
                f"{where}: offset {first_offset} of topic {place.topic} came after {file.last_offset}.",
                fix="Do not let transforms part the rows of a topic and join them again.",
            )
        return file

    def _begin(self, place: Place, first_offset: int, at_ms: int) -> OpenFile:
        self._numbers += 1
        file = OpenFile(self._numbers, place, first_offset, at_ms, at_ms)
        self.by_place[place] = file
        self._begun.append(file)
        return file

    def _parted(self, place: Place, offset: int) -> ConnectError:
        where = f"{self._partition.topic}-{self._partition.partition}"
        return ConnectError(
            f"{where}: a transform made several rows of the record at offset {offset}, or parted rows around it, and "
            f"no file of topic {place.topic} can hold all of them, such as rows of different schemas.",
            fix="Have the transform give them one schema or different topics, or use JsonFormat.",
        )

    def forget_ends(self) -> None:
        """Forget where files ended, as all rows of the poll are assigned: later ones have higher offsets."""
        self._ends.clear()

    def may_hold(self, place: Place, before_offset: int) -> bool:
        """Return True if rows of a place before this offset may be in a file that is open, or not encoded yet."""
        file = self.by_place.get(place)
        is_open = file is not None and file.first_offset < before_offset
        return is_open or any(file.place == place for file in self.ended)

    def take_begun(self) -> list[OpenFile]:
        """Return the files that are new since the last call; some may have ended."""
        begun, self._begun = self._begun, []
        return begun

    def end(self, files: Iterable[OpenFile]) -> None:
        """End these files, so that they take no more rows."""
        for file in list(files):
            del self.by_place[file.place]
            self._ends[file.place] = file.last_offset
            self.ended.append(file)

    def end_all(self) -> None:
        """End all files, so that none takes more rows."""
        self.end(self.by_place.values())

    def least_offset(self) -> int | None:
        """Return the least first offset of all open files and those in `ended`, or None if there are no files."""
        return min((file.first_offset for file in (*self.by_place.values(), *self.ended)), default=None)
