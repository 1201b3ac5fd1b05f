"""Shares out a table's first read among tasks, and then goes over to following the table.

The task that owns the table begins the first read: it stores the mark and the ranges as the table's offset. Each task
that sees this offset reads its part of the ranges, and stores the progress of each range under the range's own source
partition.
When all ranges are stored as finished, the owner stores the mark, an offset as Confluent's connector has it, and
follows the table from there. Owned by the reading thread.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from connect.api.errors import ConnectError
from connect.api.records import Batch, Column, SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.first_read import FirstRead, FirstReadSearch, NotSplit
from connectors.jdbc.follow.followed_table import FollowedTable, Reject, StoredOffset
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.ranges import TableBase, split_plan
from connectors.jdbc.follow.read_plan import assembled
from connectors.jdbc.follow.reading import Connections, ReadingPlan, TableReader
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TablePart

_log = logging.getLogger(__name__)
_SOON_S = 0.25
_RARELY_S = 5.0


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """Holds the settings, connections and functions that the readers of a task share.

    A table that failed is left alone for `look_s` seconds; `reject` takes rows that no record can hold.
    """

    config: JdbcSourceConfig
    connections: Connections
    stored: StoredOffset
    look_s: float
    reject: Reject


class PartReader:
    """Reads a part of a table's ranges, one after the other. Read by a task as a `FollowedTable` is."""

    def __init__(self, part: TablePart, context: ReaderContext) -> None:
        self.label = f"{part.table.full}, part {part.number + 1} of {part.of} of its first read"
        self.failure: ConnectError | None = None
        self.due_at_s = 0.0
        self.complete_s: float | None = None
        """When it was last seen that nothing is left to read, in epoch seconds."""
        self._part = part
        self._context = context
        self._reader: TableReader | None = None
        self._range = -1
        self._ended: set[int] = set()
        self._given: dict[int, Offset] = {}
        self._last_read: Batch | None = None

    @property
    def is_reading(self) -> bool:
        """Return True if a statement is open."""
        return self._reader is not None and self._reader.is_reading

    @property
    def unread_rows(self) -> int | None:
        """Return 0 once nothing is left to read; None before, as a part of the ranges does not tell the table's
        rows.
        """
        return 0 if self.complete_s is not None and self._reader is None else None

    def prepare(self) -> None:
        """Do nothing: before the task that owns the table has begun, its ranges are not known."""

    def read(self) -> Batch | None:
        """Return the next page of a range, or None if there is nothing to do now.

        It raises what `TableReader.read` does.
        """
        known = self._context.stored(offsets.table_partition(self._part.table))
        first = FirstRead.of(known)
        if first is None:
            self.complete_s = None if known is None else time.time()
            self._rest(_SOON_S if known is None else _RARELY_S)
            return None
        # The caller asks for more, so it has taken the last batch and its bad rows.
        self._take_place(first, self._last_read)
        self._last_read = None
        if self._reader is None:
            self._begin(first)
        if self._reader is None:
            self.complete_s = time.time()
            self._rest(_SOON_S)
            return None
        batch = self._reader.read()
        self.failure = None
        self._last_read = batch
        return batch

    def _take_place(self, first: FirstRead, batch: Batch | None) -> None:
        if batch is not None and batch.position is not None and batch.position.offset is not None:
            self._given[self._range] = batch.position.offset
            if offsets.is_range_finished(batch.position.offset, first.mark):
                self._ended.add(self._range)
                self._reader = None

    def fail(self, error: ConnectError) -> None:
        """Leave the table aside for a while because of an error."""
        self.abandon()
        self.failure, self._reader, self._last_read = error, None, None
        self._rest(self._context.look_s)

    def leave(self) -> None:
        """Release transactions and connections until the next read, if that can go on without them."""
        if self._reader is not None:
            self._reader.leave()

    def abandon(self) -> None:
        """Break off the statement that runs."""
        if self._reader is not None:
            self._reader.abandon()

    def _begin(self, first: FirstRead) -> None:
        for number in first.ranges[self._part.number :: self._part.of]:
            known = self._given.get(number) or self._context.stored(offsets.range_partition(self._part.table, number))
            if number in self._ended or offsets.is_range_finished(known, first.mark):
                continue
            plan = self._plan(first, number, known)
            self._reader, self._range = TableReader(plan, self._context.connections, self._context.reject), number
            return

    def _plan(self, first: FirstRead, number: int, known: Offset | None) -> ReadingPlan:
        # The plan is made inside `asked`, as it needs the connection, too.
        def plan(database: Database) -> ReadingPlan:
            table, config = self._part.table, self._context.config
            split = first.split(table, number)
            return split_plan(TableBase.of(assembled(database, table, config), split), config, split, known)

        return self._context.connections.asked(plan)

    def _rest(self, rest_s: float) -> None:
        self.due_at_s = time.monotonic() + rest_s


class Handover:
    """Reads a table in ranges first, if the settings ask for it and it pays, and follows it from then on.

    Read by a task as a `FollowedTable` is.
    """

    def __init__(self, followed: FollowedTable, part: TablePart, context: ReaderContext) -> None:
        self.label = followed.label
        self._followed = followed
        self._own = PartReader(part, context)
        self._table = part.table
        self._context = context
        self._search: FirstReadSearch | None = None
        self._begun = False
        self._is_over = False
        self._due_at_s = 0.0

    @property
    def failure(self) -> ConnectError | None:
        """Return the error for which the table is left aside, or None if it is not left aside."""
        return self._followed.failure if self._is_over else self._own.failure

    @property
    def due_at_s(self) -> float:
        """Return when to call `read` next, on the monotonic clock."""
        return self._followed.due_at_s if self._is_over else self._due_at_s

    @property
    def is_reading(self) -> bool:
        """Return True if a statement is open."""
        return self._followed.is_reading if self._is_over else self._own.is_reading

    @property
    def complete_s(self) -> float | None:
        """Return a time in epoch seconds: `read` has given all rows of before; None while the first read goes on."""
        return self._followed.complete_s if self._is_over else None

    @property
    def unread_rows(self) -> int | None:
        """Return the least number of rows that were not read, or None if it is not known, as during the first read."""
        return self._followed.unread_rows if self._is_over else None

    def prepare(self) -> None:
        """Look at the table now. ConnectError: it cannot be read."""
        if self._is_followed():
            self._is_over = True
            self._followed.prepare()

    def read(self) -> Batch | None:
        """Return the next page, of the first read or of a later pass. It raises what `TableReader.read` does."""
        if not self._is_over and self._is_followed():
            self._is_over = True
        if self._is_over:
            return self._followed.read()
        first = FirstRead.of(self._known())
        if first is None:
            return self._begin()
        if all(self._is_finished(number, first) for number in first.ranges):
            return self._end(first)
        batch = self._own.read()
        self._due_at_s = self._own.due_at_s
        return batch

    def fail(self, error: ConnectError) -> None:
        """Leave the table aside for a while because of an error."""
        (self._followed if self._is_over else self._own).fail(error)
        self._due_at_s = self._own.due_at_s

    def leave(self) -> None:
        """Release transactions and connections until the next read, if that can go on without them."""
        self._followed.leave()
        self._own.leave()

    def abandon(self) -> None:
        """Break off the statement that runs."""
        self._followed.abandon()
        self._own.abandon()

    def _is_followed(self) -> bool:
        known = self._known() or self._context.stored(offsets.old_table_partition(self._table))
        if known is None:
            return self._context.config.initial_read_parallelism < 2
        return FirstRead.of(known) is None

    def _known(self) -> Offset | None:
        return self._context.stored(offsets.table_partition(self._table))

    def _is_finished(self, number: int, first: FirstRead) -> bool:
        return offsets.is_range_finished(self._context.stored(offsets.range_partition(self._table, number)), first.mark)

    def _begin(self) -> Batch | None:
        self._due_at_s = time.monotonic() + _SOON_S
        if self._begun:
            return None  # given to the framework, which has yet to store it
        try:
            first = self._context.connections.asked(self._look)
        except NotSplit as why:
            _log.info("%s is not read in ranges first: %s.", self.label, why)
            self._is_over = True
            return None
        if first is None:
            return None
        _log.info("The first read of %s goes in %d ranges of its key.", self.label, len(first.ranges))
        batch = self._moved(first.offset)
        self._begun = True
        return batch

    def _look(self, database: Database) -> FirstRead | None:
        if self._search is None:
            self._search = FirstReadSearch(database, self._table, self._context.config)
        return self._search.look(database)

    def _end(self, first: FirstRead) -> Batch:
        batch = self._moved(first.mark)
        _log.info("The first read of %s is finished; it is followed from now on.", self.label)
        self._followed.go_on_from(offsets.table_partition(self._table), first.mark)
        self._is_over = True
        return batch

    def _moved(self, offset: Offset) -> Batch:
        """Return a batch that has no rows, and the table's offset."""
        partition = offsets.table_partition(self._table)
        config = self._context.config
        plan = self._context.connections.asked(
            lambda database: assembled(database, self._table, config).plan(partition, offset)
        )
        values = Column.from_arrow(plan.format.build(()), plan.format.schema)
        return Batch(plan.topic, values, position=SourcePosition(partition, offset))
