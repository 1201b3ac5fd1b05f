"""Keeps rows from being missed whose transactions commit late, after rows with larger ids or timestamps were delivered.

There are two ways. `SnapshotPasses` (tables of PostgreSQL) delivers every row as soon as it can be seen, and remembers
by transactions which rows it has delivered. `held_back` and `HeldIds` (everything else) deliver a row only when all
transactions have ended that were begun before it. In both ways the stored timestamp and id are a mark before which no
row can appear any more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.pages import Page
from connectors.jdbc.database.cursor_comparison import TimestampForm
from connectors.jdbc.database.query import BoundValue
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.modes import Mode, literal
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.settled import snapshots
from connectors.jdbc.settled.server_lineage import Lineage, Lineages
from connectors.jdbc.settled.settled_time import Observation, SettledTime
from connectors.jdbc.settled.snapshots import Snapshot
from connectors.jdbc.settled.table_parts import Parts

_log = logging.getLogger(__name__)
# sa.false() is not used: Oracle has no FALSE, and SQLAlchemy writes 0 for it, which is no condition in Oracle.
NOTHING: Final[sa.ColumnElement[bool]] = sa.literal_column("1") == sa.literal_column("0")


class LateCommitGuard(Protocol):
    """Tells before every pass which rows may be read in it. Owned by the reading thread."""

    def begin(self, database: Database) -> Sequence[sa.ColumnElement[bool]]:
        """Return the conditions on the rows of a pass that begins now, or that goes on after it was broken off."""

    @property
    def is_waiting(self) -> bool:
        """Return True if rows are there that may be read soon."""


class Marks(Protocol):
    """Tells the mark of a mode: the place before which no row can appear any more."""

    def next(self, mark: Offset | None, head: Offset | None, seen: Observation) -> Offset | None:
        """Return the mark after a pass that began with `seen`; `head` is the furthest place delivered so far."""

    def further(self, one: Offset | None, other: Offset | None) -> Offset | None:
        """Return the later of two places."""

    def forget(self) -> None:
        """Forget what was delivered: the rows were of another server."""


class PartsWatch(Protocol):
    """Tells which table has the name that is followed, and which tables became parts of it."""

    def now(self, database: Database, ended: Snapshot | None, running: Snapshot) -> Parts:
        """Return the table and the parts that it got by transactions of `running` that are not of `ended`."""

    def rows_of(self, parts: Parts) -> sa.ColumnElement[bool]:
        """Return the condition for the rows of the parts that it got."""


@dataclass(frozen=True, slots=True)
class TimestampMarks:
    """Tells the mark of timestamps. A timestamp is not earlier than the begin of the transaction that writes it, except
    by the digits that the column cuts off.
    """

    at: Callable[[int], Offset]
    """This is a function that returns the place before all rows of an instant."""
    complete_us: Callable[[int], int]
    """This function takes an instant before which every transaction has ended, and returns the instant before which no
    row with an earlier timestamp can still come. Both are in microseconds.
    """

    def next(self, mark: Offset | None, head: Offset | None, seen: Observation) -> Offset | None:
        """Return the furthest place delivered, but none behind the instant up to which values are complete."""
        instant = offsets.instant_us_of(head)
        if instant is None:
            return mark
        complete = self.complete_us(seen.settled_us)
        return self.further(mark, head if instant < complete else self.at(complete))

    def further(self, one: Offset | None, other: Offset | None) -> Offset | None:
        """Return the later place, by timestamp, then by id."""
        return max(one, other, key=lambda o: (offsets.instant_us_of(o) or -(2**63), offsets.id_of(o) or -(2**63)))

    def forget(self) -> None:
        """Do nothing: nothing is remembered."""


class IdMarks:
    """Tells the mark of ids. An id that is taken after another id could be seen is larger than that one."""

    def __init__(self) -> None:
        self._pending: tuple[int, Offset] | None = None
        self._head: Offset | None = None

    def next(self, mark: Offset | None, head: Offset | None, seen: Observation) -> Offset | None:
        """Return the largest id that was delivered before the beginning of each transaction that is open now."""
        if self._pending is None and self._head is not None:
            self._pending = (seen.now_us, self._head)
        self._head = head
        if self._pending is not None:
            # A clock that went back: what was open at that time is open at this one, or has ended.
            self._pending = (min(self._pending[0], seen.now_us), self._pending[1])
        if self._pending is not None and seen.settled_us > self._pending[0]:
            (_, mark), self._pending = self._pending, None
        return mark

    def further(self, one: Offset | None, other: Offset | None) -> Offset | None:
        """Return the place with the larger id."""
        return max(one, other, key=lambda o: -(2**63) if o is None else offsets.id_of(o) or 0)

    def forget(self) -> None:
        """Forget the ids: none was delivered yet."""
        self._pending = self._head = None


class SnapshotPasses:
    """Reads a PostgreSQL table so that every pass has the rows that were committed since the last one.

    A table that was attached as a partition since then counts as committed with it. The pass reads in the order of the
    mode, from the mark. Its offset holds the mark, the transactions of the last pass and of this one, and the place
    within it: a restart goes on where it was, with every row once.
    """

    def __init__(
        self,
        make: Callable[[Offset | None], Mode],
        xmin: sa.ColumnElement[Any],
        observe: SettledTime,
        marks: Marks,
        stored: Offset | None,
        *,
        parts: PartsWatch,
        lineages: Lineages | None = None,
    ) -> None:
        self._make = make
        self._xmin = xmin
        self._settled_time = observe
        self._marks = marks
        self._mark = offsets.mark_of(stored)
        ended, running, at = offsets.safe_pass_of(stored)
        self._ended = None if ended is None else Snapshot.parse(ended)
        self._running = None if running is None else Snapshot.parse(running)
        self._head: Offset | None = at
        self._lineages = lineages or Lineages()
        server = offsets.safe_server_of(stored)
        self._server = None if server is None else Lineage.parse(server)
        self._parts = parts
        self._table = offsets.safe_table_of(stored)
        self._seen: Observation | None = None
        self._mode = make(self._mark if at is None else at)
        self.order, self.keep = self._mode.order, self._mode.keep

    def begin(self, database: Database) -> Sequence[sa.ColumnElement[bool]]:
        """Take the settled time first, then the snapshot in which rows are read, so that it shows all that is settled.

        A pass that was broken off goes on with the transactions of its first part. The mark moves with the next pass
        only: rows of these transactions may have been replaced since then, and the new versions may be before the
        place.
        """
        is_known = self._meet(database)
        seen = self._settled_time.observe(database)
        now, is_whole = snapshots.pin(database)
        known = [snapshot for snapshot in (self._ended, self._running) if snapshot is not None]
        if known and not (is_known and all(one.precedes(later) for one, later in pairwise([*known, now]))):
            self._forget("The stored transactions are not of this server or too old")
        parts = self._parts.now(database, self._ended, self._running or now)
        if (self._ended or self._running) and self._table not in {None, parts.oid}:
            self._forget("The table was replaced by another one of its name")
        self._table = parts.oid
        self._seen = seen if is_whole and self._running is None else None
        self._running = self._running or now
        conditions = [snapshots.ended_by(self._running, self._xmin)]
        if self._ended is None:
            return conditions
        unread = snapshots.ended_after(self._ended, self._xmin)
        return [*conditions, sa.or_(unread, self._parts.rows_of(parts)) if parts.attached else unread]

    def _forget(self, why: str) -> None:
        _log.warning("%s: rows after the mark come again.", why)
        self._ended = self._running = self._head = None
        self._marks.forget()
        self._mode = self._make(self._mark)

    def _meet(self, database: Database) -> bool:
        """Return True if transactions have the same numbers on this server as when rows were read last."""
        before, self._server = self._server, self._lineages.now(database)
        if before is None or before.process == self._server.process:
            return True
        first = self._lineages.first_number(database)
        if first is not None:
            # A crash may have lost the number of a transaction that was rolled back just before. Another transaction
            # then gets this number.
            self._ended, self._running = (one and one.below(first) for one in (self._ended, self._running))
        return self._server.counts_on(before)

    @property
    def is_waiting(self) -> bool:
        """Return False, as every row is read as soon as it can be seen."""
        return False

    def after(self, form: TimestampForm | None) -> Sequence[BoundValue]:
        """Return the mark, or the place in a pass that was broken off."""
        return self._mode.after(form)

    def delivered(self, page: Page) -> Offset | None:
        """Return the offset that holds the mark, and how far the pass came."""
        at = self._mode.delivered(page)
        assert self._running is not None
        self._head = self._marks.further(self._head, at)
        if page.following is None:
            return self._end()
        ended = None if self._ended is None else self._ended.text
        now = self._running.text
        return offsets.safe_pass(self._mark or {}, ended, now, at, server=self._server_text, table=self._table)

    def finished(self, until_us: int | None) -> Offset | None:
        """Return the offset with the new mark if the mark has moved in a pass without further rows; else None."""
        at = self._mode.finished(until_us)
        if at is not None:
            self._head = self._marks.further(self._head, at)
        before = self._mark
        offset = self._end()
        return offset if at is not None or before != self._mark else None

    def _end(self) -> Offset:
        assert self._running is not None
        if self._seen is not None:
            self._mark = self._marks.next(self._mark, self._head, self._seen)
        self._ended, self._running, self._seen = self._running, None, None
        self._mode = self._make(self._mark)
        return offsets.safe_pass(self._mark or {}, self._ended.text, server=self._server_text, table=self._table)

    @property
    def _server_text(self) -> str | None:
        return None if self._server is None else self._server.text


class HeldIds:
    """Leaves ids for later until everything that was open when they were first seen has ended."""

    def __init__(
        self, largest: Callable[[Database], int | None], column: sa.ColumnElement[Any], observe: SettledTime
    ) -> None:
        self._largest = largest
        self._column = column
        self._settled_time = observe
        self._pending: tuple[int, int] | None = None
        self._free: int | None = None

    def begin(self, database: Database) -> Sequence[sa.ColumnElement[bool]]:
        """Return the condition on ids up to which rows may be read now."""
        largest = self._largest(database)
        seen = self._settled_time.observe(database)
        if self._pending is not None:
            # A clock that went back: what was open at that time is open at this one, or has ended.
            self._pending = (min(self._pending[0], seen.now_us), self._pending[1])
        if self._pending is not None and seen.settled_us > self._pending[0]:
            self._free, self._pending = self._pending[1], None
        if largest is not None and seen.settled_us >= seen.now_us:
            self._free, self._pending = largest, None
        if self._pending is None and largest is not None and largest != self._free:
            self._pending = (seen.now_us, largest)
        return [NOTHING if self._free is None else self._column <= literal(self._free)]

    @property
    def free(self) -> int | None:
        """Return the largest id up to which no further row can appear, or None if it is not known yet."""
        return self._free

    @property
    def is_waiting(self) -> bool:
        """Return True if rows are there that may be read soon."""
        return self._pending is not None
