"""Keeps the segments of a table: its rows in an order, cut where its first read was broken off. Pure.

A first read that was broken off goes on behind its last row, in a later snapshot. So each segment of the table was read
in another snapshot. A change in the log is sent if the segment of its row was read in a snapshot before the change. In
this way a table can be read in parts, in any snapshots, and be followed without a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Generic, NamedTuple, TypeVar

from connect.api.errors import ConnectError

Key = tuple[str, ...]
S = TypeVar("S")
"""This type describes a snapshot, and tells which changes of the log the snapshot holds.

Each kind of log has its own type.
"""


class KeyRange(NamedTuple):
    """Describes a range of whole-number keys: at least `begin` and less than `end`.

    Either is None if there is no limit on that side.
    """

    begin: int | None = None
    end: int | None = None


EVERY_KEY = KeyRange()


@dataclass(frozen=True, slots=True)
class Segment(Generic[S]):
    """Describes the rows behind the previous segment up to the key `upto`, or all others if that is None. They were
    read in one snapshot.

    `seen` describes that snapshot. It is None if the log begins behind it, so that it holds no change of the log.
    """

    seen: S | None = None
    upto: Key | None = None


@dataclass(frozen=True, slots=True)
class Fence(Generic[S]):
    """Holds the segments of one table. `by` names the columns that give the table's rows their order."""

    by: tuple[str, ...] = ()
    segments: tuple[Segment[S], ...] = (Segment(),)

    @classmethod
    def joined(cls, parts: Sequence[tuple[Fence[S], Key | None]]) -> Fence[S]:
        """Return the fence of a table that was read in parts of one order.

        `parts` are at least one, in that order: each fence with the last key of its part, or None if the part has all
        other keys.
        """
        found: list[Segment[S]] = []
        for fence, upto in parts:
            *before, last = fence.segments
            found += [*before, replace(last, upto=upto)]
        # Neighbours that were read in one snapshot become one segment.
        kept = [one for one, behind in zip_longest(found, found[1:]) if behind is None or behind.seen != one.seen]
        return cls(parts[0][0].by, tuple(kept))

    def goes_on(self, by: tuple[str, ...], last: Key, seen: S | None) -> Fence[S]:
        """Return the fence for reading the rows behind `last`, or all rows if that is empty, in a new snapshot.

        `by` names the columns of the order, and `seen` describes the snapshot.
        """
        if not last:
            return Fence(by, (Segment(seen),))
        if by != self.by:
            return self.begun_again(by)
        *before, open_ = self.segments
        return Fence(by, (*before, replace(open_, upto=last), Segment(seen)))

    def goes_on_within(self, by: tuple[str, ...], last: Key, seen: S, table: str) -> Fence[S]:
        """Return the fence as `goes_on` does, for rows that cannot be read again.

        ConnectError: the table has another order than before.
        """
        if last and by != self.by:
            raise other_order(table)
        return self.goes_on(by, last, seen)

    def begun_again(self, by: tuple[str, ...]) -> Fence[S]:
        """Return the fence for reading all rows again, because the table has another order than before.

        All changes since the first snapshot are sent again, as rows that were read before may be gone by now.
        """
        return Fence(by, (replace(self.segments[0], upto=None),))

    @property
    def bounds(self) -> tuple[Key, ...]:
        """Return the last key of each segment but the last one."""
        return tuple(segment.upto for segment in self.segments if segment.upto is not None)

    @property
    def seen(self) -> tuple[S, ...]:
        """Return the snapshots of the segments, without the one behind which the log begins."""
        return tuple(segment.seen for segment in self.segments if segment.seen is not None)


def other_order(table: str) -> ConnectError:
    """Return the error that says why a bulk read cannot go on."""
    return ConnectError(
        f"The key of table {table} was changed while its rows were read, so that nothing tells which changes of the "
        "log they hold.",
        fix="Begin again under another name, into a new topic.",
    )


def as_json(fences: Mapping[str, Fence[S]], snapshot: Callable[[S], object]) -> dict[str, object]:
    """Return the fences of tables as JSON: each snapshot once; and for each table its order and its segments'
    snapshots.
    """
    snapshots: list[S] = []
    for seen in (seen for fence in fences.values() for seen in fence.seen):
        if seen not in snapshots:
            snapshots.append(seen)
    tables = {
        table: [fence.by, [[None if s.seen is None else snapshots.index(s.seen), s.upto] for s in fence.segments]]
        for table, fence in fences.items()
    }
    return {"snapshots": [snapshot(seen) for seen in snapshots], "tables": tables}


def of_json(state: Mapping[str, object], snapshot: Callable[[Sequence[object]], S]) -> dict[str, Fence[S]]:
    """Return the fences from the JSON that `as_json` made. TypeError, ValueError, IndexError: the JSON is something
    else.
    """
    found, tables = state.get("snapshots"), state.get("tables")
    if not isinstance(found, list) or not isinstance(tables, dict):
        raise TypeError("fences: must have snapshots and tables")
    snapshots = [snapshot(members) for members in found]
    return {
        str(table): Fence(
            tuple(map(str, by)),
            tuple(
                Segment(None if number is None else snapshots[number], None if upto is None else tuple(map(str, upto)))
                for number, upto in parts
            ),
        )
        for table, (by, parts) in tables.items()
    }
