"""Reads rows of a connection by its driver's cursor; the quicker readers are subclasses."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from connectors.jdbc.connection.pages import FETCH_ROWS, CursorPages, PageRules, Pages
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.values.types import Raw

# Some values of these kinds have no form in Python: 24:00:00, infinity, a zero date, the year 10000.
BEYOND_PYTHON = frozenset({Raw.DATE, Raw.TIME, Raw.WALL_CLOCK, Raw.INSTANT})
_STREAMED = {"stream_results": True, "max_row_buffer": FETCH_ROWS}


class CursorReader:
    """Reads by the driver's cursor, which streams rows. Owned by the reading thread; `interrupt` is for any thread."""

    errors: tuple[type[Exception], ...] = ()
    """The reader may raise these errors beside those of the connection's driver."""

    def __init__(self) -> None:
        self._stream: sa.CursorResult[Any] | None = None

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Return the kinds of columns that statements have to convert to text, as the reader would lose something."""
        return frozenset()

    def describe(
        self, link: ReopenedConnection, statement: sa.Select[Any], doing: str
    ) -> Sequence[Sequence[Any]] | None:
        """Return a statement's columns as the session describes them that will read the rows.

        Return None if the rows are read on the connection of `link`, which can describe them itself.
        """
        del link, statement, doing
        return None

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Return the pages of rows of a statement. They are fetched from SQLAlchemy's result, not from the driver's
        cursor, as with stream_results SQLAlchemy has taken rows from the cursor already.
        """
        with link.errors.translated(doing):
            result = self._stream = link.connection.execute(statement, execution_options=_STREAMED)
        return CursorPages(result, result.fetchmany, rules, link.errors, doing)

    def join_snapshot(self, link: ReopenedConnection, doing: str) -> bool:
        """Return True if the reader reads in the snapshot of the connection's transaction.

        Else the transaction is ended, and the caller has to begin a new one.
        """
        del link, doing
        return True

    def end_transaction(self, link: ReopenedConnection) -> None:
        """End the reader's statement, and the connection's transaction."""
        self._stream = None
        link.end_transaction()

    def interrupt(self, link: ReopenedConnection, connection: sa.Connection) -> None:
        """Break off a running statement. For any thread."""
        del link
        driver: Any = connection.connection.driver_connection
        for name in ("interrupt", "cancel"):
            if hasattr(driver, name):
                getattr(driver, name)()
                return

    def close(self, link: ReopenedConnection) -> None:
        """Close the reader's statement before the connection is closed."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(sa.exc.SQLAlchemyError, *link.driver_errors):
                stream.close()
