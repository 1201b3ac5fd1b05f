"""What a table says of how far it is, by two witnesses: the summaries of its snapshots, and its properties.

A commit of rows writes both. A summary goes with its rows: a table that is taken back to an earlier snapshot has that
one's. Snapshots of others, as of a compaction, have none; then the nearest ancestor's counts. Once somebody has expired
these, the table's property is all that is left. It stays through a rollback, so it is believed only where the rows are
counted that were there with it.
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
"""The property of a table that says how many rows it had with the snapshot that OFFSETS were committed with."""
_COUNTS: Final = (
    (1, "total-records", "added-records", "deleted-records"),
    (-1, "total-position-deletes", "added-position-deletes", "removed-position-deletes"),
)
"""Holds fields of a snapshot's summary: rows in data files, and rows that delete files mark as gone."""


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """How far a table is, as its witnesses tell.

    `is_certain` False: by its property alone, which its rows do not bear out. `taken_back`: the property says otherwise
    than the snapshots, which count, as after a rollback.
    """

    progress: TableProgress
    is_certain: bool = True
    taken_back: TableProgress | None = None


def told_by(table: Table) -> StoredProgress:
    """Return what the witnesses of a table say together, as it was when it was refreshed.

    ConnectError: none of ours.
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
    """Return the table's properties once it has this snapshot, with which it is so far."""
    rows = None if head is None else _rows(head)
    return {OFFSETS: progress.text, ROWS: "" if rows is None else str(rows)}


def _lineage(table: Table) -> Iterator[Snapshot]:
    """Yield the newest snapshot and its ancestors, as far as they have not expired.

    ConnectError: one is its own ancestor, as in metadata that somebody made up.
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
    """Return how many rows the snapshot before this one had; None: it does not say."""
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
            return None  # another engine, or nobody, wrote this
        rows += sign * (total - added + removed if is_before else total)
    return rows
