"""Remembers the events of one input partition, as entries in a partition of the state topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from connect.api.records import TopicPartition
from connect.api.state import StateEntries, StateEntry
from connectors.cassandra.dedup.cell_merge import CellMerge
from connectors.cassandra.dedup.row_memory import RowMemory
from connectors.cassandra.dedup.seen_ids import SeenIds

LOOKED_AT_MOST: Final = 2000
"""At most so many entries are looked through in one call of `forget`."""


class EventMemory:
    """Remembers the ids of events and, if cells are merged, their newest writes. Owned by the task thread."""

    def __init__(
        self,
        place: TopicPartition,
        state: TopicPartition,
        ids: int,
        *,
        merge_cells: bool,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Keep the events of the input partition `place` in the state topic's partition `state`.

        Other input partitions may share `state`. `ids` is how many event ids are remembered. `now_s` returns seconds
        since 1970.
        """
        self._state = state
        self._ids_name = f"ids {place.topic} {place.partition} ".encode()
        self._rows_name = f'["rows","{place.topic}",{place.partition},'.encode()
        self.seen = SeenIds(self._ids_name, ids)
        self._rows = RowMemory() if merge_cells else None
        self.merge = (
            None if self._rows is None else CellMerge(self._rows, ["rows", place.topic, place.partition], now_s)
        )
        """Finds what of an event is newer than all before; None if copies are recognised by their ids alone."""
        self._looked_at = b""

    def load(self, entries: Iterable[StateEntry]) -> None:
        """Take over the entries that were read from the state topic; those of other input partitions are skipped."""
        ids = []
        for entry in entries:
            if entry.key.startswith(self._ids_name):
                ids.append(entry)
            elif self._rows is not None and entry.key.startswith(self._rows_name):
                self._rows.load(entry)
        self.seen.load(ids)

    def forget(self, before_s: float) -> None:
        """Look through the next entries, and remove what only copies older than `before_s` could need.

        `before_s` counts seconds since 1970.
        """
        if self._rows is None or self.merge is None:
            return
        found = self._rows.behind(self._looked_at, LOOKED_AT_MOST)
        for key, value in found:
            left = self.merge.still_needed(key, value, before_s)
            if left is None:
                self._rows.forget(key)
            elif left != value:
                self._rows.put(key, left)
        # The next call begins at the first entry again if this one came to the end.
        self._looked_at = found[-1][0] if len(found) == LOOKED_AT_MOST else b""

    def take_changes(self) -> StateEntries:
        """Return the entries that have changed since the last call."""
        rows = [] if self._rows is None else self._rows.take_changes()
        return StateEntries(*self._state, [*self.seen.take_changes(), *rows])

    def close(self) -> None:
        """Remove the temporary file. May be called twice."""
        if self._rows is not None:
            self._rows.close()
