"""Reads a table's progress from two places: the summaries of its snapshots, and its properties.

A commit of rows writes both. A summary belongs to its snapshot: a table that is rolled back to an earlier snapshot has
that one's summary. Snapshots of other programs have no progress; then the nearest ancestor's counts. If the ancestors
have expired, only the table's property is left. A rollback does not change the property. So it counts as certain only
if the table has the number of rows that was stored with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConnectError
from connectors.s3.iceberg.progress import OFFSETS, TableProgress

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

ROWS: Final = "kconnect-table-rows"
"""This property of a table tells how many rows it had with the snapshot with which OFFSETS was committed."""
_COUNTS: Final = (
    (1, "total-records", "added-records", "deleted-records"),
    (-1, "total-position-deletes", "added-position-deletes", "removed-position-deletes"),
)
"""Holds the fields of a snapshot's summary that count rows in data files, and rows that delete files mark."""


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """Holds the progress that a table tells.

    `is_certain` is False if only the property tells it, and the number of rows does not fit. `taken_back` is the
    progress of the property if the snapshots, which count, tell another one, as after a rollback; else None.
    """

    progress: TableProgress
    is_certain: bool = True
    taken_back: TableProgress | None = None


def told_by(table: Table) -> StoredProgress:
    """Return the progress that a table tells, as it was when it was refreshed.

    ConnectError: another program wrote the texts.
    """
    text = table.properties.get(OFFSETS)
    by_property = None if text is None else TableProgress.parsed(text)
    oldest = None
    for snapshot in _lineage(table):
        own = None if snapshot.summary is None else snapshot.summary.get(OFFSETS)
        if own is not None:
            found = TableProgress.parsed(own)
            return StoredProgress(found, taken_back=by_property if by_property != found else None)
        oldest = snapshot
    if by_property is None or oldest is None:
        return StoredProgress(TableProgress(), taken_back=by_property)
    before = _rows_before(oldest)
    return StoredProgress(by_property, is_certain=before is not None and str(before) == table.properties.get(ROWS))


def properties_of(progress: TableProgress, head: Snapshot | None) -> dict[str, str]:
    """Return the properties that a table gets for its progress, with the snapshot `head`."""
    rows = None if head is None else _rows(head)
    return {OFFSETS: progress.text, ROWS: "" if rows is None else str(rows)}


def _lineage(table: Table) -> Iterator[Snapshot]:
    """Yield the newest snapshot and those of its ancestors that have not expired.

    ConnectError: a snapshot is its own ancestor, so that the metadata are forged.
    """
    snapshot = table.current_snapshot()
    if snapshot is None:
        return
    yield snapshot
    left = {one.snapshot_id: one for one in table.snapshots() if one.snapshot_id != snapshot.snapshot_id}
    while (parent := snapshot.parent_snapshot_id) is not None:
        found = left.pop(parent, None)
        if found is None and table.snapshot_by_id(parent) is not None:
            raise ConnectError(
                f"The table's snapshot {parent} is its own ancestor: its metadata are not to be trusted."
            )
        if found is None:
            return
        yield found
        snapshot = found


def _rows_before(snapshot: Snapshot) -> int | None:
    """Return how many rows the snapshot before this one had, or None if the summary does not tell it."""
    return _rows(snapshot, is_before=True)


def _rows(snapshot: Snapshot, *, is_before: bool = False) -> int | None:
    summary = snapshot.summary
    if summary is None or summary.get(_COUNTS[0][1]) is None:
        return None
    rows = 0
    for sign, *names in _COUNTS:
        try:
            total, added, removed = (int(summary.get(name) or 0) for name in names)
        except ValueError:
            return None  # another program wrote a summary without valid counts
        rows += sign * (total - added + removed if is_before else total)
    return rows
