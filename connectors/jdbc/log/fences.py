"""What the first read of a table has seen of the log that is read behind it. Pure.

A first read that is broken off goes on behind its last row in a later snapshot. So a table has segments, in the order
in which its rows are read, and each segment the snapshot it was read in: a change in the log is shown where its row's
segment was read before it. Whoever reads a table in parts, in whichever snapshots, can follow it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from connectors.jdbc.log.cells import Mask, Places

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a snapshot of PostgreSQL holds: itself in the server's form (`xmin:xmax:xip,…`), and an LSN behind the
    commits of all that is visible in it.
    """

    snapshot: str
    lsn: int

    def hides(self, xid: Places, final_lsn: Places) -> Mask:
        """The changes whose transactions the snapshot saw."""
        _, xmax, running = self.snapshot.split(":")
        # The log has the lower half of a number.
        behind = (xid - int(xmax)).astype(np.int32)
        known = np.array([int(x) & 0xFFFFFFFF for x in running.split(",") if x], np.int64)
        hidden: Mask = (final_lsn < self.lsn) & (behind < 0) & ~np.isin(xid, known)
        return hidden


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows behind the segment before and up to a key (None: all others), read in one snapshot.

    `seen` None: the one behind which the log begins, so that no change of the log is in it.
    """

    seen: Seen | None = None
    upto: Key | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """One table's segments. `by`: the names of the columns that give its rows their order."""

    by: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = (Segment(),)

    def goes_on(self, by: tuple[str, ...], last: Key, seen: Seen | None) -> Fence:
        """The fence when rows behind `last` (empty: all rows) are read in a snapshot from now on.

        Where the table has another order than before, all rows are read again, and all changes since the first snapshot
        come again: rows that were read before may be gone since.
        """
        if not last:
            return Fence(by, (Segment(seen),))
        if by != self.by:
            return Fence(by, (replace(self.segments[0], upto=None),))
        *before, open_ = self.segments
        return Fence(by, (*before, replace(open_, upto=last), Segment(seen)))

    @property
    def bounds(self) -> tuple[Key, ...]:
        """The last key of each segment but the last one."""
        return tuple(segment.upto for segment in self.segments if segment.upto is not None)

    def hidden(self, xid: Places, final_lsn: Places) -> list[Mask]:
        """For each segment, the changes that its snapshot holds."""
        none = np.zeros(len(xid), np.bool_)
        return [none if s.seen is None else s.seen.hides(xid, final_lsn) for s in self.segments]

    def is_passed(self, lsn: int) -> bool:
        """Whether the log from here on is behind all of its snapshots."""
        return all(segment.seen is None or segment.seen.lsn <= lsn for segment in self.segments)


Fences = Mapping[str, Fence]
"""By the table's full name; "" is for every table that is not named."""


def ahead_of(fences: Fences, lsn: int) -> Fences:
    """Those that can still hide changes of the log from here on."""
    return {table: fence for table, fence in fences.items() if not fence.is_passed(lsn)}


def stored(fences: Fences) -> dict[str, object]:
    """As JSON: each snapshot once, and by table its order and its segments with their snapshots' numbers."""
    snapshots = list(dict.fromkeys(s.seen for fence in fences.values() for s in fence.segments if s.seen is not None))
    number = {seen: i for i, seen in enumerate(snapshots)}
    tables = {
        table: [fence.by, [[None if s.seen is None else number[s.seen], s.upto] for s in fence.segments]]
        for table, fence in fences.items()
    }
    return {"snapshots": [[seen.snapshot, seen.lsn] for seen in snapshots], "tables": tables}


def restored(state: Mapping[str, object]) -> Fences:
    """What `stored` made. TypeError, ValueError, IndexError: it did not."""
    found, tables = state.get("snapshots"), state.get("tables")
    if not isinstance(found, list) or not isinstance(tables, dict):
        raise TypeError("fences: must have snapshots and tables")
    snapshots = [Seen(str(text), int(lsn)) for text, lsn in found]
    return {
        str(table): Fence(
            tuple(map(str, by)),
            tuple(
                Segment(None if number is None else snapshots[number], None if upto is None else tuple(map(str, upto)))
                for number, upto in segments
            ),
        )
        for table, (by, segments) in tables.items()
    }
