"""Reads one table or query page by page, and tells when its next read is due. Owned by the reading thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa

from connect.api.errors import ConnectError
from connect.api.records import Batch, Column, SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.pages import Page, PageRules, Pages
from connectors.jdbc.database.cursor_comparison import TimestampForm
from connectors.jdbc.database.query import Source, select
from connectors.jdbc.follow.blind_spots import BlindSpot
from connectors.jdbc.follow.late_commits import LateCommitGuard
from connectors.jdbc.follow.modes import Bulk, Mode
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.follow.unread_rows import UnreadRows
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.unconvertible_rows import BadRows

T = TypeVar("T")
_SOON_S = 0.25
"""Rows that are held back are looked at again after this many seconds."""


class Connections:
    """Keeps open connections that no table uses now. Owned by the reading thread; any thread may call `interrupt`."""

    def __init__(self, connect: Callable[[], Database]) -> None:
        self._connect = connect
        self._idle: list[Database] = []
        self._busy: list[Database] = []

    def take(self) -> Database:
        """Return a connection for one reader alone."""
        database = self._idle.pop() if self._idle else self._connect()
        self._busy.append(database)
        return database

    def give_back(self, database: Database) -> None:
        """Take back a connection that the reader is done with, and end its transaction."""
        self._busy.remove(database)
        try:
            database.end_transaction()
        except BaseException:
            database.close()
            raise
        self._idle.append(database)

    def discard(self, database: Database) -> None:
        """Close a connection that failed."""
        self._busy.remove(database)
        database.close()

    def asked(self, ask: Callable[[Database], T]) -> T:
        """Return what `ask` returns for a connection. A connection that failed is not used again."""
        database = self.take()
        try:
            answer = ask(database)
        except BaseException:
            self.discard(database)
            raise
        self.give_back(database)
        return answer

    def interrupt(self) -> None:
        """Break off the statements that run."""
        for database in tuple(self._busy):
            database.interrupt()

    def close(self) -> None:
        """Close all connections."""
        for database in (*self._idle, *self._busy):
            database.close()
        self._idle, self._busy = [], []


@dataclass(frozen=True, slots=True)
class TimestampBound:
    """Holds the instant up to which a pass reads (`until_us`, which is None for a pass to the end), and how the column
    is compared with it.
    """

    form: Callable[[Database], TimestampForm]
    until_us: Callable[[Database], int] | None


class ColumnsChangedError(ConnectError):
    """Says that the table has other columns than when it was planned."""


@dataclass(frozen=True, slots=True)
class Described:
    """Holds the columns that a table had when the server described them, and the statement that asks for them again.

    The columns stay as they are until the transaction ends that asks.
    """

    statement: sa.Select[Any] = field(compare=False)
    columns: tuple[tuple[str, ...], ...]

    @classmethod
    def now(cls, database: Database, statement: sa.Select[Any], doing: str) -> Described:
        """Return the columns as they are now. ConnectError: the table cannot be read."""
        return cls._of(statement, database.describe(statement, doing))

    def anew(self, database: Database, doing: str) -> Described:
        """Return the columns as they are now, asked in the session that reads next. ConnectError: the table cannot be
        read.
        """
        return self._of(self.statement, database.describe_to_read(self.statement, doing))

    @classmethod
    def _of(cls, statement: sa.Select[Any], found: Sequence[Sequence[Any]]) -> Described:
        return cls(statement, tuple(tuple(str(part) for part in column) for column in found))


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """Holds everything that does not change while a table is read.

    With `paged` each page is read by a separate statement, so that no lock is held between polls (SQLite); it needs an
    index on the order. `row_id` is SQLite's hidden key, read beside the row's columns. `key` names the columns of the
    record key, and `names_row` those that tell a person which row it is. `blind_spots` tell which changes are not seen.
    `begins` is the offset of a beginning that depends on the present time ("now"), or None if reading begins elsewhere.
    `described` are the columns for which the plan was made, or None if they are not watched. With `counts_unread` an
    index allows rows behind a place to be counted without reading the table. `made_for` is what else of the table the
    plan depends on, such as its key.
    """

    label: str
    topic: str
    partition: Mapping[str, object]
    source: Source
    format: RowFormat
    mode: Mode
    page_rows: int
    interval_s: float
    paged: bool = False
    row_id: sa.ColumnElement[Any] | None = None
    bound: TimestampBound | None = None
    guard: LateCommitGuard | None = None
    key: tuple[str, ...] = ()
    blind_spots: tuple[BlindSpot, ...] = ()
    names_row: tuple[str, ...] = ()
    first_wait_s: float = 0.0
    begins: Offset | None = None
    described: Described | None = None
    counts_unread: bool = False
    made_for: tuple[object, ...] = ()

    def is_like(self, other: ReadingPlan) -> bool:
        """Return True if the other plan was made for a table of the same columns and key."""
        mine, others = ((plan.format.columns, plan.described, plan.made_for) for plan in (self, other))
        return mine == others


@dataclass(slots=True)
class _Pass:
    until_us: int | None = None
    form: TimestampForm | None = None
    conditions: Sequence[sa.ColumnElement[bool]] = ()
    pages: Pages | None = None
    began_s: float = field(default_factory=time.time)
    database: Database | None = field(default=None, repr=False)


class TableReader:
    """Reads one table in passes, and rests for `interval_s` seconds between two of them."""

    def __init__(
        self, plan: ReadingPlan, connections: Connections, reject: Callable[[BadRows], None] | None = None
    ) -> None:
        """Take the plan and connections.

        `reject` takes rows that no record can hold. If it is None, the first such row raises SchemaError.
        """
        self._plan = plan
        self._connections = connections
        self._reject = reject
        self._pass: _Pass | None = None
        self.due_at_s = time.monotonic() + plan.first_wait_s
        """This is the time, on the monotonic clock, at which `read` is to be called next."""
        self.complete_s: float | None = None
        """This is the time, in epoch seconds, when the last pass began that ended with no row held back.

        It is None if there was no such pass.
        """
        self.unread = UnreadRows(plan.label, may_ask=plan.counts_unread)

    @property
    def is_reading(self) -> bool:
        """Return True if a pass has begun and not ended."""
        return self._pass is not None

    def read(self) -> Batch | None:
        """Return the next page; None when a pass found nothing new. After an error the next call reads from the same
        place.

        ColumnsChangedError: nothing was read, and the table has to be planned anew.
        """
        try:
            page = self._next_page()
            until_us = None if self._pass is None else self._pass.until_us
            self.unread.read(len(page))
            if page.following is None:
                self._end_pass()
            # This comes last because it moves the place: if anything failed after it, the page would be lost.
            return self._batch(page, until_us)
        except BaseException:
            self.abandon()
            raise

    def _next_page(self) -> Page:
        current = self._pass = self._pass or self._begin()
        if current.pages is None:
            current.database = current.database or self._connections.take()
            # The session that reads asks for the columns, and before it reads. Another session would wait behind an
            # ALTER TABLE, which waits for this session.
            if self.unread.is_due and not self.unread.ask(current.database, self._statement(current)):
                self.abandon()
                return self._next_page()
            self._require_columns(current.database)
            sets_bad_aside = self._reject is not None
            rules = PageRules(self._plan.page_rows, self._plan.format, self._plan.mode.keep, sets_bad_aside)
            statement = self._statement(current)
            current.pages = current.database.pages(statement, rules, self._doing)
        page = current.pages.next()
        if self._plan.paged:
            self._release(current)
        return page

    def _require_columns(self, database: Database) -> None:
        # The columns are compared now, as these rows are never read again and would lack the values of a new column.
        known = self._plan.described
        if known is not None and known.anew(database, self._doing) != known:
            raise ColumnsChangedError(f"The columns of {self._plan.label} have changed.")

    @property
    def _doing(self) -> str:
        return f"reading {self._plan.label}"

    def _begin(self) -> _Pass:
        bound, guard = self._plan.bound, self._plan.guard
        if bound is None and guard is None:
            return _Pass()
        started = self._pass = _Pass(database=self._connections.take())
        assert started.database is not None
        if bound is not None:
            started.until_us = None if bound.until_us is None else bound.until_us(started.database)
            started.form = bound.form(started.database)
        if guard is not None:
            started.conditions = guard.begin(started.database)
        return started

    def _statement(self, current: _Pass) -> sa.Select[Any]:
        plan, form = self._plan, current.form
        until = form.before(current.until_us) if form is not None and current.until_us is not None else None
        return select(
            plan.source,
            plan.mode.order,
            after=plan.mode.after(form),
            until=until,
            conditions=current.conditions,
            extra=() if plan.row_id is None else (plan.row_id,),
            limit=plan.page_rows + 1 if plan.paged else None,
            as_text=frozenset() if current.database is None else current.database.wanted_as_text,
        )

    def _batch(self, page: Page, until_us: int | None) -> Batch | None:
        plan = self._plan
        offset = plan.mode.delivered(page) if len(page) else plan.mode.finished(until_us)
        if offset is None and not len(page):
            return None
        position = SourcePosition(plan.partition, offset)
        values = Column.from_arrow(page.values, plan.format.schema)
        if page.bad and self._reject is not None:
            name = plan.format.schema.name
            self._reject(BadRows.of(list(page.bad.values()), plan.topic, name, plan.names_row, position))
        return Batch(plan.topic, values, keys=plan.format.keys(page.values, plan.key), position=position)

    def _end_pass(self) -> None:
        current, self._pass = self._pass, None
        soon = self._plan.guard is not None and self._plan.guard.is_waiting
        self.due_at_s = time.monotonic() + min(self._plan.interval_s, _SOON_S if soon else self._plan.interval_s)
        if current is not None:
            if not soon:
                self.complete_s = current.began_s
            self.unread.rows = None if soon else 0
            self._release(current)

    def _release(self, current: _Pass) -> None:
        pages, current.pages = current.pages, None
        if pages is not None:
            pages.close()
        database, current.database = current.database, None
        if database is not None:
            self._connections.give_back(database)

    def leave(self) -> None:
        """Release transactions and connections until the next read, if that can go on without them."""
        mode = self._plan.mode
        if self.is_reading and not (isinstance(mode, Bulk) and not mode.can_go_on):
            self.abandon()

    def abandon(self) -> None:
        """Break the pass off; the next read goes on behind the rows that were delivered."""
        current, self._pass = self._pass, None
        self.due_at_s = time.monotonic()
        if current is not None:
            self.unread.rows = None
        if isinstance(self._plan.mode, Bulk):
            self._plan.mode.restart()
        if current is not None and current.database is not None:
            self._connections.discard(current.database)
