"""What is remembered of one input partition, kept as entries of a partition of the state topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connect.api.records import TopicPartition
from connect.api.state import StateEntries, StateEntry
from connectors.cassandra.dedup.cells import CellMerge, is_only_deleted
from connectors.cassandra.dedup.row_memory import RowMemory
from connectors.cassandra.dedup.seen import SeenIds

_DELETED_BYTES: Final = 64
"""The entry of a row that was only deleted has at most so many bytes."""


class EventMemory:
    """The ids of events and, where cells are merged, the newest writes. Owned by the task thread."""

    def __init__(self, place: TopicPartition, state: TopicPartition, ids: int, *, merge_cells: bool) -> None:
        """`place` is the input partition, `state` the partition of its entries, which may hold those of others, too."""
        self._state = state
        self._ids_name = f"ids {place.topic} {place.partition} ".encode()
        self._rows_name = f'["rows","{place.topic}",{place.partition},'.encode()
        self.seen = SeenIds(self._ids_name, ids)
        self._rows = RowMemory() if merge_cells else None
        self.merge = None if self._rows is None else CellMerge(self._rows, ["rows", place.topic, place.partition])
        """None where copies are told by their ids alone."""

    def load(self, entries: Iterable[StateEntry], *, forget_deleted_before_s: float) -> None:
        """Take what the state topic holds. Rows deleted before this time (seconds since 1970) are forgotten."""
        ids = []
        for entry in entries:
            if entry.key.startswith(self._ids_name):
                ids.append(entry)
            elif self._rows is not None and entry.key.startswith(self._rows_name):
                self._rows.load(entry)
        self.seen.load(ids)
        for key, value in self._rows.small_entries(_DELETED_BYTES) if self._rows is not None else ():
            if value is not None and self._rows is not None and is_only_deleted(value, forget_deleted_before_s):
                self._rows.forget(key)

    def take_changes(self) -> StateEntries:
        """The entries that have changed since the last call."""
        rows = [] if self._rows is None else self._rows.take_changes()
        return StateEntries(*self._state, [*self.seen.take_changes(), *rows])

    def close(self) -> None:
        """Remove the temporary file. May be called twice."""
        if self._rows is not None:
            self._rows.close()
