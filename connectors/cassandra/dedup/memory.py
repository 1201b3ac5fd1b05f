"""What is remembered of one partition of an input topic, in the entries of a partition of the state topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connect.api.records import TopicPartition
from connect.api.state import StateEntries, StateEntry
from connectors.cassandra.dedup.cells import CellMerge, is_only_deleted
from connectors.cassandra.dedup.row_memory import RowMemory
from connectors.cassandra.dedup.seen import SeenIds

_DELETED_BYTES: Final = 64
"""What is remembered of a row that was deleted is no longer."""


class EventMemory:
    """Ids of events, and where cells are merged their newest writes. Owned by the task thread."""

    def __init__(self, place: TopicPartition, state: TopicPartition, ids: int, *, merge_cells: bool) -> None:
        """`place`: in the input; `state`: where entries are kept, perhaps beside those of other places."""
        self._state = state
        self._ids_name = f"ids {place.topic} {place.partition} ".encode()
        self._rows_name = f'["rows","{place.topic}",{place.partition},'.encode()
        self.seen = SeenIds(self._ids_name, ids)
        self._rows = RowMemory() if merge_cells else None
        self.merge = None if self._rows is None else CellMerge(self._rows, ["rows", place.topic, place.partition])
        """None: ids alone tell copies."""

    def load(self, entries: Iterable[StateEntry], *, forget_deleted_before_s: float) -> None:
        """What the state topic holds. Rows that were deleted before this time are forgotten: seconds since 1970."""
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
        """What has changed since the last call."""
        rows = [] if self._rows is None else self._rows.take_changes()
        return StateEntries(*self._state, [*self.seen.take_changes(), *rows])

    def close(self) -> None:
        """Let go of the temporary file. May be called twice."""
        if self._rows is not None:
            self._rows.close()
