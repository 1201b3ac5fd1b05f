"""Tells which changes of PostgreSQL's log the first read of a table has seen, so that they are not sent again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from connectors.jdbc.log.shared import snapshot_segments as segments
from connectors.jdbc.log.shared.cells import Mask, Places
from connectors.jdbc.log.shared.snapshot_segments import Fence


@dataclass(frozen=True, slots=True)
class SnapshotVisibility:
    """Describes a snapshot of PostgreSQL. `snapshot` is in the server's form (`xmin:xmax:xip,…`); `lsn` is behind the
    commits of all transactions that are visible in it.
    """

    snapshot: str
    lsn: int

    def hides(self, xid: Places, final_lsn: Places) -> Mask:
        """Return a mask of the changes whose transactions are visible in the snapshot."""
        _, xmax, running = self.snapshot.split(":")
        # The log holds only the lower 32 bits of a transaction's number.
        behind = (xid - int(xmax)).astype(np.int32)
        known = np.array([int(x) & 0xFFFFFFFF for x in running.split(",") if x], np.int64)
        hidden: Mask = (final_lsn < self.lsn) & (behind < 0) & ~np.isin(xid, known)
        return hidden


Fences = Mapping[str, Fence[SnapshotVisibility]]
"""Holds fences by the table's full name; the name "" is for every table that is not named."""


def hidden(fence: Fence[SnapshotVisibility], xid: Places, final_lsn: Places) -> list[Mask]:
    """Return a mask for each segment: True for the changes that are visible in its snapshot."""
    none = np.zeros(len(xid), np.bool_)
    return [none if s.seen is None else s.seen.hides(xid, final_lsn) for s in fence.segments]


def is_passed(fence: Fence[SnapshotVisibility], lsn: int) -> bool:
    """Return True if the log from `lsn` on is behind all snapshots of the fence."""
    return all(seen.lsn <= lsn for seen in fence.seen)


def ahead_of(fences: Fences, lsn: int) -> Fences:
    """Return the fences that can still hide changes of the log from `lsn` on."""
    return {table: fence for table, fence in fences.items() if not is_passed(fence, lsn)}


def stored(fences: Fences) -> dict[str, object]:
    """Return the fences as JSON."""
    return segments.as_json(fences, lambda seen: [seen.snapshot, seen.lsn])


def restored(state: Mapping[str, object]) -> Fences:
    """Return the fences from the JSON that `stored` made. TypeError, ValueError, IndexError: the JSON is something
    else.
    """
    return segments.of_json(state, lambda members: SnapshotVisibility(str(members[0]), int(str(members[1]))))
