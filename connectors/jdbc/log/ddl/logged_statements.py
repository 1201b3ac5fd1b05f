"""Reads the statements of a binary log, and defines what makes records of them. Owned by the reading thread."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import sqlalchemy as sa

from connect.api.records import Batch
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog import packets as binlog
from connectors.jdbc.log.binlog.charset import charset_of, decoding
from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.position import BinlogPosition
from connectors.jdbc.log.ddl.tokens import Statement


class LoggedStatements:
    """Reads statements together with the settings of their session and server."""

    def __init__(self, database: Database) -> None:
        """Connect to nothing."""
        self._database = database
        self._folds_case: bool | None = None

    def of(self, event: Event) -> Statement:
        """Return the statement of an event."""
        session, text = binlog.query_session(event), binlog.query_bytes(event)
        if self._folds_case is None:
            asked = sa.text("SELECT @@lower_case_table_names")
            self._folds_case = int(self._database.scalar(asked, "asking for settings")) != 0
        decode = None
        if not text.isascii() and session.collation:
            decode = decoding(self._database, charset_of(self._database, session.collation), "of a statement")
        return Statement(
            text.decode("utf-8", "replace") if decode is None else decode(text),
            binlog.query_schema(event),
            session.quotes_names,
            session.escapes,
            self._folds_case,
            self._database.is_mariadb,
        )


class StatementPlace(NamedTuple):
    """Holds a statement's place in the log and its transaction. `thread` is the session's number; -1: it is not
    known.
    """

    file: str
    gtid: str | None
    at_us: int
    thread: int = -1


class StatementTeller(Protocol):
    """Makes records of statements that change databases and tables."""

    def of_snapshot(self, here: BinlogPosition) -> Batch | None:
        """Return records of the tables as a first read finds them, or None if there are none.

        The read's transaction is open.
        """

    def of_statement(self, event: Event, place: StatementPlace) -> Batch | None:
        """Return records of a statement of the log, or None if there are none."""


class Silent:
    """Makes no records of statements."""

    def of_snapshot(self, here: BinlogPosition) -> Batch | None:
        """Return nothing."""
        del here
        return None

    def of_statement(self, event: Event, place: StatementPlace) -> Batch | None:
        """Return nothing."""
        del event, place
        return None


SILENT: StatementTeller = Silent()
