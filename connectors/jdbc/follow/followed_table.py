"""Follows one table, or the query: plans it anew when its columns or its key change, or after it failed.

Owned by the reading thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, Column, SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow.offsets import Offset, without_key
from connectors.jdbc.follow.reading import ColumnsChangedError, Connections, ReadingPlan, TableReader
from connectors.jdbc.values.unconvertible_rows import BadRows

_log = logging.getLogger(__name__)
Reject = Callable[[BadRows], None]
StoredOffset = Callable[[Mapping[str, object]], Offset | None]
MakePlan = Callable[[Database, StoredOffset], ReadingPlan]


class ScheduledRead(Protocol):
    """Defines the interface of a table or a part of it that a task reads in turn with others.

    Owned by the reading thread.
    """

    label: str

    @property
    def failure(self) -> ConnectError | None:
        """Return the error for which it is left aside now, or None if it is not left aside."""

    @property
    def due_at_s(self) -> float:
        """Return when to call `read` next, on the monotonic clock."""

    @property
    def is_reading(self) -> bool:
        """Return True if a pass has begun and not ended."""

    @property
    def complete_s(self) -> float | None:
        """Return the time, in epoch seconds, up to which `read` has given all rows.

        Return None if no such time is known.
        """

    @property
    def unread_rows(self) -> int | None:
        """Return the least number of rows that the source held at the last look and that were not given, or None if
        that number is not known.
        """

    def prepare(self) -> None:
        """Look at the table now. ConnectError: it cannot be read."""

    def read(self) -> Batch | None:
        """Return the next page. RetriableError: not now; ConnectError: this table cannot go on."""

    def fail(self, error: ConnectError) -> None:
        """Leave this table aside for a while because of an error; others go on."""

    def leave(self) -> None:
        """Release transactions and connections until the next read, if that can go on without them."""

    def abandon(self) -> None:
        """Break off the statement that runs."""


class FollowedTable:
    """Reads one table in passes, and looks at its columns again every `look_s` between two of them."""

    def __init__(
        self,
        label: str,
        make_plan: MakePlan,
        connections: Connections,
        stored: StoredOffset,
        look_s: float,
        *,
        reject: Reject,
        note: Callable[[str, Sequence[str]], None] = lambda _label, _notes: None,
    ) -> None:
        """Take what the reading needs. After each look `note` gets the table's label and notes about the table."""
        self.label = label
        self._note = note
        self._reject = reject
        self._bad: list[BadRows] = []
        self._last_read: Batch | None = None
        self.failure: ConnectError | None = None
        self._make_plan = make_plan
        self._connections = connections
        self._stored = stored
        self._look_s = look_s
        self._reader: TableReader | None = None
        self._plan: ReadingPlan | None = None
        self._look_at_s = 0.0
        self._retry_at_s = 0.0
        self._given: dict[str, Offset] = {}
        self._begins: Batch | None = None

    @property
    def due_at_s(self) -> float:
        """Return when to call `read` next, on the monotonic clock."""
        return self._retry_at_s if self._reader is None else self._reader.due_at_s

    @property
    def is_reading(self) -> bool:
        """Return True if a pass has begun and not ended."""
        return self._reader is not None and self._reader.is_reading

    @property
    def complete_s(self) -> float | None:
        """Return the time, in epoch seconds, up to which `read` has given all rows.

        Return None if no such time is known.
        """
        return None if self._reader is None else self._reader.complete_s

    @property
    def unread_rows(self) -> int | None:
        """Return the least number of rows that the source held at the last look and that were not given, or None if
        that number is not known.
        """
        return None if self._reader is None else self._reader.unread.rows

    def prepare(self) -> None:
        """Look at the table now. ConnectError: it cannot be read."""
        self._look()

    def read(self) -> Batch | None:
        """Return the next page as `TableReader.read` does. ConnectError: this table cannot go on."""
        # The caller asks for more, so it has taken the last batch and its bad rows. This comes before each look, as a
        # new plan begins at the last place that was taken.
        self._take_place(self._last_read)
        self._last_read = None
        if self._reader is None or (not self._reader.is_reading and time.monotonic() >= self._look_at_s):
            self._look()
        assert self._reader is not None
        if self._begins is not None:
            # The place where reading begins ("now") is stored first. At the next start "now" would be later, and rows
            # from before it would be left out.
            begins, self._begins = self._begins, None
            return begins
        try:
            batch = self._reader.read()
        except RetriableError:
            raise
        except ColumnsChangedError:
            self._look()
            return None
        except ConnectError:
            # A column may have been dropped, renamed or widened: then the new columns are read.
            if self._look():
                return None
            raise
        bad = self._bad[:]
        self._bad.clear()
        if bad and self._look_behind_page():
            # These rows were read with the columns that the table had before.
            return None
        self.failure = None
        for rows in bad:
            self._reject(rows)
        self._last_read = batch
        return batch

    def _take_place(self, batch: Batch | None) -> None:
        if batch is not None and batch.position is not None and batch.position.offset is not None:
            self._given[str(dict(batch.position.partition))] = batch.position.offset

    def go_on_from(self, partition: Mapping[str, object], offset: Offset) -> None:
        """Begin at this offset, although the framework may not have stored it yet."""
        self._given[str(dict(partition))] = offset

    def fail(self, error: ConnectError) -> None:
        """Leave the table aside for a while because of an error; other tables go on."""
        self.abandon()
        self.failure = error
        self._reader = self._plan = self._last_read = None
        self._retry_at_s = time.monotonic() + self._look_s

    def leave(self) -> None:
        """Release transactions and connections until the next read, if that can go on without them."""
        if self._reader is not None:
            self._reader.leave()

    def abandon(self) -> None:
        """Break off the statement that runs."""
        if self._reader is not None:
            self._reader.abandon()

    def _look_behind_page(self) -> bool:
        """Look at the table while a page is read but not given; return False if the page was read with its columns.

        If the look fails, the page is read again, as the reader's place is behind it already.
        """
        assert self._reader is not None
        try:
            try:
                return self._look()
            except RetriableError:
                # The server may have no connection left beside those that read.
                self._reader.leave()
                return self._look()
        except BaseException:
            self.abandon()
            self._reader = self._plan = None
            raise

    def _look(self) -> bool:
        """Plan the table anew; return False if it is as it was."""
        plan = self._connections.asked(lambda database: self._make_plan(database, self._last))
        self._look_at_s = time.monotonic() + self._look_s
        self._note(self.label, [spot.text for spot in plan.blind_spots if spot.is_noted])
        if self._plan is not None and plan.is_like(self._plan):
            return False
        if self._plan is not None and plan.made_for != self._plan.made_for:
            # A place among rows in the order of the former key says nothing of the order of the present one.
            place = without_key(self._last(plan.partition))
            if place is not None:
                self.go_on_from(plan.partition, place)
                plan = self._connections.asked(lambda database: self._make_plan(database, self._last))
        if plan.begins is not None:
            self.go_on_from(plan.partition, plan.begins)
            rows = Column.from_arrow(plan.format.build(()), plan.format.schema)
            self._begins = Batch(plan.topic, rows, position=SourcePosition(plan.partition, plan.begins))
        for spot in plan.blind_spots:
            _log.log(logging.WARNING if spot.can_be_mended else logging.INFO, "%s", spot.text)
        waits = self._reader is None
        self.abandon()
        self._plan, self._reader = plan, TableReader(plan, self._connections, self._bad.append)
        if not waits:
            self._reader.due_at_s = time.monotonic()
        return True

    def _last(self, partition: Mapping[str, object]) -> Offset | None:
        # The offset that was given to the framework last may not be stored yet.
        return self._given.get(str(dict(partition))) or self._stored(partition)
