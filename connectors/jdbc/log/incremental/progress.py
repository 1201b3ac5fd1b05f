"""Holds which tables are still to be read again and how far the first of them is, as an offset stores it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from connectors.jdbc.log.shared.snapshot_segments import Key

MEMBER: Final = "incremental_snapshots"
_DEBEZIUMS, _ID = "incremental_snapshot_collections", "incremental_snapshot_collections_id"
_CONDITION: Final = "incremental_snapshot_collections_additional_condition"
_SURROGATE: Final = "incremental_snapshot_collections_surrogate_key"
_SEEN_AT_MOST: Final = 20
"""This many signals are remembered: after a break the log may come again, and there are no more between two stored
places.
"""


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Tells how far a table was read. `after` is the last key that was read, and `upto` the last one that is to be
    read.

    Both are empty until the first chunk. `condition` is SQL that rows must meet, or an empty text if all rows are read.
    """

    table: str
    condition: str = ""
    after: Key = ()
    upto: Key = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """Holds the tables in the order in which they are read, and the places of signals that were obeyed.

    `topic_offset` is where a topic of signals is to be read on, or None if it was not read.
    """

    tables: tuple[TableProgress, ...] = ()
    seen: tuple[str, ...] = ()
    is_paused: bool = False
    topic_offset: int | None = None

    def offset(self) -> dict[str, object]:
        """Return the members of an offset that hold the progress; none if there is nothing to go on with."""
        made: dict[str, object] = {MEMBER: json.dumps(asdict(self))} if self != Progress() else {}
        if self.tables:
            # Debezium begins these tables again if the connector moves there.
            listed = [{_ID: one.table, _CONDITION: one.condition or None, _SURROGATE: None} for one in self.tables]
            made[_DEBEZIUMS] = json.dumps(listed)
        return made

    def saw(self, at: str) -> Progress:
        """Return the progress once the signal at a place was obeyed."""
        return replace(self, seen=(*self.seen, at)[-_SEEN_AT_MOST:]) if at else self

    def queued(self, tables: Sequence[TableProgress]) -> Progress:
        """Return the progress with more tables; one that waits or is being read already is not added again."""
        known = {one.table for one in self.tables}
        return replace(self, tables=(*self.tables, *(one for one in tables if one.table not in known)))

    def without(self, tables: Sequence[str]) -> Progress:
        """Return the progress without these tables."""
        return replace(self, tables=tuple(one for one in self.tables if one.table not in tables))

    def moved(self, first: TableProgress) -> Progress:
        """Return the progress with the first table at another place."""
        return replace(self, tables=(first, *self.tables[1:]))


def progress_of(offset: Mapping[str, object] | None) -> Progress:
    """Return the progress of a stored offset, ours or Debezium's, whose tables begin again. ValueError: it is
    malformed.
    """
    if not offset:
        return Progress()
    if own := offset.get(MEMBER):
        found = json.loads(str(own))
        tables = (
            TableProgress(one["table"], one["condition"], tuple(one["after"]), tuple(one["upto"]))
            for one in found.get("tables", ())
        )
        return Progress(
            tuple(tables), tuple(found.get("seen", ())), bool(found.get("is_paused")), found.get("topic_offset")
        )
    listed: Sequence[Mapping[str, Any]] = json.loads(str(offset.get(_DEBEZIUMS) or "[]"))
    return Progress(tuple(TableProgress(str(one[_ID]), str(one.get(_CONDITION) or "")) for one in listed))
