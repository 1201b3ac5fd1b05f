"""Reads rows of PostgreSQL: as Arrow on a separate connection, or by the driver's cursor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.connection.readers import BEYOND_PYTHON, CursorReader
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.postgres.arrow import PostgresArrow, driver_errors, is_installed
from connectors.jdbc.native import libpq_module
from connectors.jdbc.values.types import Raw

if TYPE_CHECKING:
    from connectors.jdbc.dialects.postgres.copy import PostgresCopy

_log = logging.getLogger(__name__)
_EXPORT = sa.text("SELECT pg_catalog.pg_export_snapshot()")


class PostgresReader(CursorReader):
    """Reads rows of PostgreSQL."""

    def __init__(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> None:
        """Read as Arrow if `is_quick` and there is native code or the ADBC driver.

        Sessions begin with the statements in `session`.
        """
        super().__init__()
        self._arrow: PostgresArrow | PostgresCopy | None = None
        self._exported: str | None = None
        if is_quick:
            self._arrow = _quick(engine, session)
        if isinstance(self._arrow, PostgresArrow):
            self.errors = driver_errors()

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Return the kinds of columns that statements have to convert to text."""
        return BEYOND_PYTHON if self._arrow is None else frozenset({Raw.DECIMAL})

    def describe(
        self, link: ReopenedConnection, statement: sa.Select[Any], doing: str
    ) -> Sequence[Sequence[Any]] | None:
        """Return a statement's columns as the session describes them that will read the rows.

        Return None if the rows are read on the connection of `link`, which can describe them itself.
        """
        if self._arrow is None:
            return None
        self._let_go(link)
        return self._arrow.describe(_literal(link, statement), link.errors, doing, self._exported)

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Read a statement."""
        if self._arrow is None:
            return super().pages(link, statement, rules, doing)
        self._let_go(link)
        pages = self._arrow.pages(_literal(link, statement), rules, link.errors, doing, self._exported)
        if self._exported is not None:
            self._exported = None
            link.end_transaction()
        return pages

    def join_snapshot(self, link: ReopenedConnection, doing: str) -> bool:
        """Have the connection for Arrow read in the snapshot of the connection of `link`. Return True if it can.

        If the server exports no snapshot, rows are no longer read as Arrow.
        """
        if self._arrow is None:
            return True
        try:
            with link.errors.translated(doing):
                self._exported = str(link.connection.execute(_EXPORT).scalar())
        except RetriableError:
            raise
        except ConnectError as error:
            _log.warning("Rows are read as with reader=generic, as the server exports no snapshot: %s", error.message)
            self._arrow.close()
            self._arrow = None
            self.end_transaction(link)
            return False
        return True

    def end_transaction(self, link: ReopenedConnection) -> None:
        """End the transactions of both connections, and with them the snapshot and every lock."""
        if self._arrow is not None:
            with link.errors.translated("ending the read transaction"):
                self._arrow.end_transaction()
        self._exported = None
        super().end_transaction(link)

    def interrupt(self, link: ReopenedConnection, connection: sa.Connection) -> None:
        """Cancel a running statement. For any thread."""
        arrow = self._arrow
        if arrow is not None:
            arrow.interrupt()
        super().interrupt(link, connection)

    def close(self, link: ReopenedConnection) -> None:
        """Close the statement that is being read, and the connection for Arrow."""
        self._exported = None
        if self._arrow is not None:
            self._arrow.close()
        super().close(link)

    def _let_go(self, link: ReopenedConnection) -> None:
        """End the transaction of `link`, which may hold locks, unless the connection for Arrow needs its snapshot."""
        if self._exported is None:
            link.end_transaction()


def _quick(engine: sa.Engine, session: tuple[str, ...]) -> PostgresArrow | PostgresCopy | None:
    given = engine.dialect.create_connect_args(engine.url)[1]
    arguments = {name: value for name, value in given.items() if isinstance(value, str | int)}
    if libpq_module() is None:
        return PostgresArrow(arguments, session) if is_installed() else None
    from connectors.jdbc.dialects.postgres.copy import PostgresCopy

    return PostgresCopy(arguments, session)


def _literal(link: ReopenedConnection, statement: sa.Select[Any]) -> str:
    # The readers of Arrow take no parameters, so psycopg writes them into the text.
    from psycopg import ClientCursor

    compiled = statement.compile(dialect=link.connection.dialect)
    return ClientCursor(link.driver).mogrify(str(compiled), compiled.construct_params())
