"""What the first read of a table has seen of PostgreSQL's log that is read behind it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from connectors.jdbc.log.shared import snapshot_segments as segments
from connectors.jdbc.log.shared.cells import Mask, Places
from connectors.jdbc.log.shared.snapshot_segments import Fence


@dataclass(frozen=True, slots=True)
class SnapshotVisibility:
    """What a snapshot of PostgreSQL holds: itself in the server's form (`xmin:xmax:xip,…`), and an LSN behind the
    commits of all that is visible in it.
    """

    snapshot: str
    lsn: int

    def hides(self, xid: Places, final_lsn: Places) -> Mask:
        """Return the changes whose transactions the snapshot saw."""
        _, xmax, running = self.snapshot.split(":")
        # The log has the lower half of a number.
        behind = (xid - int(xmax)).astype(np.int32)
        known = np.array([int(x) & 0xFFFFFFFF for x in running.split(",") if x], np.int64)
        hidden: Mask = (final_lsn < self.lsn) & (behind < 0) & ~np.isin(xid, known)
        return hidden


Fences = Mapping[str, Fence[SnapshotVisibility]]
"""By the table's full name; "" is for every table that is not named."""


def hidden(fence: Fence[SnapshotVisibility], xid: Places, final_lsn: Places) -> list[Mask]:
    """Return for each segment the changes that its snapshot holds."""
    none = np.zeros(len(xid), np.bool_)
    return [none if s.seen is None else s.seen.hides(xid, final_lsn) for s in fence.segments]


def is_passed(fence: Fence[SnapshotVisibility], lsn: int) -> bool:
    """Return True if the log from here on is behind all of its snapshots."""
    return all(seen.lsn <= lsn for seen in fence.seen)


def ahead_of(fences: Fences, lsn: int) -> Fences:
    """Return the fences that can still hide changes of the log from here on."""
    return {table: fence for table, fence in fences.items() if not is_passed(fence, lsn)}


def stored(fences: Fences) -> dict[str, object]:
    """Return the fences as JSON."""
    return segments.as_json(fences, lambda seen: [seen.snapshot, seen.lsn])


def restored(state: Mapping[str, object]) -> Fences:
    """Return the fences that `stored` made. TypeError, ValueError, IndexError: it did not."""
    return segments.of_json(state, lambda members: SnapshotVisibility(str(members[0]), int(str(members[1]))))
