"""Keeps the schema history of a connector to MariaDB or MySQL: follows statements, and asks the catalog for proof.

The catalog describes a table as it is now. The table was the same at a place of the log if no statement behind the
place names it. Owned by the reading thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from connect.api.errors import RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog import packets as binlog
from connectors.jdbc.log.binlog.metadata import ColumnMetadata
from connectors.jdbc.log.binlog.packets import Event, TableMap
from connectors.jdbc.log.binlog.position import BinlogPosition, Place
from connectors.jdbc.log.ddl.logged_statements import LoggedStatements
from connectors.jdbc.log.ddl.statements import Known, UnknownTable, effects
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import NotUnderstoodError
from connectors.jdbc.log.mysql.catalog import catalog_table, schema_charsets
from connectors.jdbc.log.mysql.enum_members import with_stored_members
from connectors.jdbc.log.mysql.schema_history import SchemaHistory
from connectors.jdbc.log.mysql.snapshot import log_end
from connectors.jdbc.log.mysql.stream import BinlogStream, PositionLostError
from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_NEAR_BYTES: Final = 1 << 22
"""At most this many bytes of the log are read ahead to prove what statements have already told."""
_WAIT_S: Final = 0.1
_FIX: Final = (
    "Let the server log them from now on: SET GLOBAL binlog_row_metadata=FULL (MariaDB 10.5, MySQL 8). Then reset the "
    "connector's offsets, so that the tables are read anew, or set snapshot.mode=when_needed; or leave the table out."
)


class ColumnsLostError(PositionLostError):
    """It is not known which columns a table had at a place of the log."""


class _Catalogued(NamedTuple):
    """Holds a table as the catalog had it, and a place in the log that the server reached after that."""

    table: PastTable | None
    end: Place


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Holds what the log has from one place to another: where statements are, and the tables that they name."""

    begin: Place
    end: Place
    named: Sequence[tuple[Place, frozenset[TableName]]]
    tables: Mapping[TableName, _Catalogued]

    def names(self, table: TableName, behind: Place) -> bool:
        """Return True if a statement behind the place names the table, which the catalog need not tell, therefore."""
        end = self.tables[table].end.order
        return any(behind.order < at.order <= end and table in named for at, named in self.named)


class MySqlHistory:
    """Knows the columns that the chosen tables had at the place where the log is read."""

    def __init__(
        self,
        database: Database,
        chosen: Callable[[TableName], bool],
        stopping: threading.Event,
        stored: Mapping[str, Any] | None = None,
        number: int = 0,
    ) -> None:
        """Connect to nothing. `stored` is the history's offset, and `number` that of the place from which the log
        is read.
        """
        self._database = database
        self._stopping = stopping
        self._history = SchemaHistory(chosen, partial(with_stored_members, database))
        self._history.restore(stored, number)
        self._unproved: set[TableName] = set()
        self._used: set[TableName] = set()
        self._ahead: _Ahead | None = None
        self._logged = LoggedStatements(database)

    @property
    def number(self) -> int:
        """Return the number of the latest change of a table that the history knows."""
        return self._history.number

    def rewind(self, number: int) -> None:
        """Go back to the tables as they were after the change of this number: the log is read again from there."""
        self._history.rewind(number)
        self._unproved, self._used, self._ahead = set(self._history.tables), set(), None

    def forget_before(self, number: int) -> None:
        """Forget how tables were before the change of this number; no stored position needs it."""
        self._history.forget_before(number)

    @property
    def unsaved_offset(self) -> dict[str, object] | None:
        """Return the offset to store before any position that holds the present number, or None if nothing is new."""
        return self._history.offset() if self._history.is_unsaved else None

    def begin(self, tables: Sequence[TableName]) -> Place:
        """Take the tables as the catalog has them. Return the place in the log at which they were like that."""
        while True:
            begin = self._end()
            found = {name: catalog_table(self._database, name) for name in tables}
            charsets = schema_charsets(self._database)
            end = self._end()
            changed = {name for _, named in self._statements(begin, end) for name in named}
            if not changed & set(tables):
                break
            _log.info("Tables were altered while the catalog was read: reading it again.")
        self._history.begin({name: table for name, table in found.items() if table is not None}, charsets)
        return end

    def follow_to(self, begin: Place, end: Place) -> None:
        """Take the statements between two places."""
        for event, _ in self._queries(begin, end):
            self.follow(event)

    def follow(self, event: Event) -> None:
        """Take what a statement does to tables."""
        if self._history.is_begun:
            changed = self._history.follow(self._logged.of(event))
            self._unproved |= changed.keys()
            self._used -= changed.keys()

    def told(self, name: TableName, mapped: TableMap, at: Place) -> ColumnMetadata | None:
        """Return the columns of a table at a place, as a log with column names tells them, or None if the table is
        gone.

        ColumnsLostError: the columns are not known.
        """
        if name in self._unproved:
            self._prove(name, at)
        then = self._history.tables.get(name)
        why = then.why if isinstance(then, UnknownTable) else "the connector did not follow it before"
        if isinstance(then, PastTable):
            try:
                told = then.told(mapped, keeps_history=self._database.is_mariadb)
            except NotUnderstoodError as error:
                why = str(error)
            else:
                self._used.add(name)
                return told
        return self._told_by_catalog(name, mapped, at, why)

    def _told_by_catalog(self, name: TableName, mapped: TableMap, at: Place, why: str) -> ColumnMetadata | None:
        ahead = self._looked_ahead(name, at)
        if ahead.names(name, at):
            raise _lost(name, at, f"{why}; and it was altered since")
        now = ahead.tables[name].table
        if now is None:
            return None
        try:
            told = now.told(mapped, keeps_history=self._database.is_mariadb)
        except NotUnderstoodError as error:
            raise _lost(name, at, str(error)) from None
        self._history.learn({name: now})
        self._unproved.discard(name)
        return told

    def _looked_ahead(self, name: TableName, at: Place) -> _Ahead:
        """Return what the log has from a place up to its present end. So the log may be read twice as a whole, but not
        once for each table: what was read before is read no more.
        """
        known = self._ahead
        if known is None or not known.begin.order <= at.order <= known.end.order:
            known = _Ahead(at, at, [], {})
        if name not in known.tables or at.order > known.tables[name].end.order:
            unknown = (table for table, then in self._history.tables.items() if isinstance(then, UnknownTable))
            wanted = {name, *(table for table in unknown if table not in known.tables)}
            found = {table: catalog_table(self._database, table) for table in wanted}
            end = self._end()
            tables = {**known.tables, **{table: _Catalogued(one, end) for table, one in found.items()}}
            named = [*known.named, *self._statements(known.end, end)]
            known = self._ahead = _Ahead(known.begin, end, named, tables)
        return known

    def at_end(self, at: Place) -> None:
        """Check that the catalog agrees with the history at the log's end. ColumnsLostError: it does not, and rows were
        read.
        """
        for name in list(self._unproved):
            self._prove(name, at)

    def _prove(self, name: TableName, at: Place) -> None:
        """Compare a table with the catalog, when the log's end is near and no statement until there names it."""
        then = self._history.tables.get(name)
        if not isinstance(then, PastTable):
            self._unproved.discard(name)
            return
        now = catalog_table(self._database, name)
        end = self._end()
        is_near = end.file == at.file and end.pos - at.pos <= _NEAR_BYTES
        if not is_near or any(name in named for _, named in self._statements(at, end)):
            return
        self._unproved.discard(name)
        if now is None or now == then:
            return
        if name in self._used:
            raise _lost(name, at, "the catalog has other columns than the statements in the log made")
        _log.info(
            "Table %s has other columns than the statements in the log say: those of the catalog count.", name.full
        )
        self._history.learn({name: now})

    def _statements(self, begin: Place, end: Place) -> Iterator[tuple[Place, frozenset[TableName]]]:
        known = Known(self._history.tables, {})
        for event, at in self._queries(begin, end):
            named = effects(self._logged.of(event), known).tables
            if named:
                yield at, frozenset(named)

    def _queries(self, begin: Place, end: Place) -> Iterator[tuple[Event, Place]]:
        """Yield the statements between two places, each with the place behind it."""
        if begin.order >= end.order:
            return
        database = self._database
        stream = BinlogStream(database.driver_arguments, database.errors, self._stopping)
        try:
            stream.start(BinlogPosition(*begin), mariadb=database.is_mariadb)
            at = begin
            while at.order < end.order:
                if self._stopping.is_set():
                    raise RetriableError("The task is asked to stop while it reads the log for ALTER TABLE.")
                event = stream.next(_WAIT_S)
                if event is None:
                    continue
                at = (
                    Place(*binlog.rotated(event))
                    if event.kind == binlog.ROTATE
                    else at._replace(pos=event.end or at.pos)
                )
                if event.kind in binlog.QUERIES and begin.order < at.order <= end.order:
                    yield event, at
        finally:
            stream.close()

    def _end(self) -> Place:
        return Place(*log_end(self._database))


def metadata_of(database: Database) -> str:
    """Return the server's binlog_row_metadata; NO_LOG where it has no such setting."""
    rows = database.rows(sa.text("SHOW GLOBAL VARIABLES LIKE 'binlog_row_metadata'"), "asking for settings")
    database.end_transaction()
    return str(rows[0][1]).upper() if rows else "NO_LOG"


def metadata_note(metadata: str) -> str | None:
    """Return what a person should know of a server that logs no names and types of columns, or None if it logs them."""
    if metadata == "FULL":
        return None
    return (
        f"The server logs rows without the names and types of their columns (binlog_row_metadata={metadata}), so that "
        "the connector follows ALTER TABLE and the like by their statements, and stops where it does not understand "
        "one, or where a table was altered without a statement in the log. Better: SET GLOBAL binlog_row_metadata=FULL "
        "(MariaDB 10.5, MySQL 8), and the same in the server's file; it holds for sessions that begin then."
    )


def _lost(name: TableName, at: Place, why: str) -> ColumnsLostError:
    return ColumnsLostError(
        f"Which columns the rows of table {name.full} have at {at.file}:{at.pos} is not known: {why}. The server does "
        "not log it (binlog_row_metadata).",
        fix=_FIX,
    )
