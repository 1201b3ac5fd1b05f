"""Keeps one connection to the database: opens it, reads pages and the catalog, and translates every driver error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.engine import engine_of, url_of
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.types import Raw

T = TypeVar("T")
_SNAPSHOT = "SELECT pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_is_in_recovery()"


class Database:
    """Holds a connection, and the reader of rows for its kind of database.

    Owned by one thread; `interrupt` is for any thread.
    """

    def __init__(self, config: JdbcSourceConfig, *, waits: bool = False, connect_timeout_s: int | None = None) -> None:
        """Make the engine, and connect to nothing. ConfigError: the URL cannot be used.

        With `waits` a user whom the server refuses is tried again, as it may be let in later. A server may take
        `connect_timeout_s` seconds to answer, unless the URL has a limit; None means the driver's default.
        """
        url = url_of(config, connect_timeout_s=connect_timeout_s)
        self.dialect = dialect_of(config.connection_url)
        connecting = self.dialect.connecting
        self.schema_of_connection = connecting.schema_of(url)
        # Each session begins with these statements.
        self.session = (
            *self.dialect.sessions.closed(config.allowed),
            *self.dialect.sessions.reading(config.statement_timeout_ms),
        )
        url, secured = connecting.take_tls(url)
        level = config.isolation_mode.removeprefix("SQL_SERVER_").replace("_", " ")
        engine = engine_of(self.dialect, url, self.session, secured, isolation=None if level == "DEFAULT" else level)
        self._reader = connecting.reader(engine, self.session, is_quick=config.reader == "auto")
        self._link = ReopenedConnection(self.dialect, engine, config, secured, self._reader.errors, waits=waits)
        self.errors = self._link.errors

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Return the kinds of columns that statements have to convert to text, as the reader would lose something."""
        return self._reader.wanted_as_text

    @property
    def connection(self) -> sa.Connection:
        """Return the open connection; connect if there is none. RetriableError: connecting fails for now."""
        return self._opened().connection

    def _opened(self) -> ReopenedConnection:
        if not self._link.is_open:
            self.close()
            self._link.open()
        return self._link

    @property
    def is_mariadb(self) -> bool:
        """Return True if the server says that it is MariaDB, whether the URL names MariaDB or MySQL."""
        return bool(getattr(self.connection.dialect, "is_mariadb", False))

    @property
    def driver_arguments(self) -> dict[str, Any]:
        """Return the driver's arguments, for connections that SQLAlchemy does not make. They hold the password."""
        return self._link.driver_arguments

    def inspector(self) -> sa.Inspector:
        """Return a new inspector, which has cached nothing of the catalog."""
        return sa.inspect(self.connection)

    def scalar(self, statement: sa.Select[Any] | sa.TextClause, doing: str) -> Any:
        """Return the first value of a statement's first row; None if there is no row."""
        connection = self.connection
        with self.errors.translated(doing):
            return connection.execute(statement).scalar()

    def describe(self, statement: sa.Select[Any], doing: str) -> Sequence[Sequence[Any]]:
        """Return a statement's columns, their names first, as the driver describes them; nothing is fetched."""
        return self.look_at(statement, doing, self.dialect.connecting.description)

    def describe_to_read(self, statement: sa.Select[Any], doing: str) -> Sequence[Sequence[Any]]:
        """Return the same as `describe`, from the session in which `pages` will read, if that can describe statements.

        The session that describes a table blocks any ALTER TABLE until it ends. A second session that reads would wait
        behind that ALTER TABLE, and so for the first one: a deadlock that no server sees.
        """
        found = self._reader.describe(self._opened(), statement, doing)
        return self.describe(statement, doing) if found is None else found

    def look_at(self, statement: sa.Select[Any], doing: str, look: Callable[[Any], T]) -> T:
        """Run a statement and return what `look` returns for the driver's cursor; no row is fetched."""
        connection = self.connection
        with self.errors.translated(doing), connection.execute(statement) as result:
            return look(result.cursor)

    def rows(self, statement: sa.Select[Any] | sa.TextClause, doing: str) -> list[Sequence[Any]]:
        """Return every row of a small result."""
        connection = self.connection
        with self.errors.translated(doing):
            return list(connection.execute(statement))

    def mappings(self, statement: sa.TextClause, doing: str) -> list[dict[str, Any]]:
        """Return every row of a small result, its values by the names of their columns."""
        connection = self.connection
        with self.errors.translated(doing):
            return [dict(row) for row in connection.execute(statement).mappings()]

    def run(self, statement: str, doing: str) -> None:
        """Run a statement without a result."""
        connection = self.connection
        with self.errors.translated(doing):
            connection.exec_driver_sql(statement)

    def commit(self, statement: str, doing: str) -> None:
        """Run a statement, which may write, in a separate transaction, and commit it."""
        self.end_transaction()
        connection = self.connection
        try:
            with self.errors.translated(doing):
                connection.execution_options(no_parameters=True).exec_driver_sql(statement)
                connection.commit()
        finally:
            self.end_transaction()

    def told(self, ask: Callable[[], T]) -> T | None:
        """Return what `ask` returns, in a separate transaction, or None if the server refuses to answer.

        RetriableError: the server cannot answer now.
        """
        try:
            return ask()
        except RetriableError:
            raise
        except ConnectError:
            return None
        finally:
            self.end_transaction()

    def pin(self, doing: str) -> tuple[str, bool]:
        """Begin a transaction on PostgreSQL that sees one snapshot, in which `pages` will read.

        Return the snapshot as pg_current_snapshot writes it, and True if the server is a standby. No transaction may be
        open.
        """
        connection = self.connection
        with self.errors.translated(doing):
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            snapshot, is_standby = connection.execute(sa.text(_SNAPSHOT)).one()
        if not self._reader.join_snapshot(self._link, doing):
            return self.pin(doing)
        return str(snapshot), bool(is_standby)

    def pages(self, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Return the pages of rows of a statement, read as Arrow if a driver can do so, else by a streaming cursor."""
        return self._reader.pages(self._opened(), statement, rules, doing)

    def end_transaction(self) -> None:
        """End the transaction, which releases its snapshot and every lock."""
        self._reader.end_transaction(self._link)

    def interrupt(self) -> None:
        """Break off a running statement. For any thread."""
        connection = self._link.current
        # The reading thread may close the connection at this very moment.
        with suppress(sa.exc.SQLAlchemyError, *self._link.driver_errors):
            if connection is not None and not connection.closed and not connection.invalidated:
                self._reader.interrupt(self._link, connection)

    def close(self) -> None:
        """Close the connection; errors of a connection that is already closed are ignored."""
        self._reader.close(self._link)
        self._link.close()
