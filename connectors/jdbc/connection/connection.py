"""One connection to the database: opens it, reads pages, asks the catalog. Every driver error leaves translated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection import tls
from connectors.jdbc.connection.engine import border_of, driver_error_of, engine_of, url_of
from connectors.jdbc.connection.mysql_arrow import MySqlArrow
from connectors.jdbc.connection.pages import FETCH_ROWS, CursorPages, PageRules, Pages
from connectors.jdbc.connection.postgres_arrow import PostgresArrow, columns_told, is_installed
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.native import libpq_module
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.url import OTHER_SERVERS
from connectors.jdbc.values.types import Raw

if TYPE_CHECKING:
    from connectors.jdbc.connection.postgres_copy import PostgresCopy

T = TypeVar("T")
_MYSQL = {"mysql", "mariadb"}
_log = logging.getLogger(__name__)
_EXPORT = "SELECT pg_catalog.pg_export_snapshot()"
_SNAPSHOT = "SELECT pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_is_in_recovery()"


class Database:
    """A connection, and the generic reader over its driver's cursor. Owned by one thread, `interrupt` apart."""

    def __init__(self, config: JdbcSourceConfig, *, waits: bool = False, connect_timeout_s: int | None = None) -> None:
        """Builds the engine without connecting; `waits`: a refused user is let in later. ConfigError: no usable URL.

        `connect_timeout_s`: how long a server may take to answer, unless the URL says so; None: the driver's own.
        """
        self._waits = waits
        url = url_of(config, connect_timeout_s=connect_timeout_s)
        self.dialect = dialect_of(config.connection_url)
        self.dialect_name = url.get_backend_name()
        self.schema_of_connection = url.database if self.dialect_name in _MYSQL else None
        # Statements that prepare each session.
        self.session = (
            *self.dialect.sessions.closed(config.allowed),
            *self.dialect.sessions.reading(config.statement_timeout_ms),
        )
        url, self._tls = tls.take_tls(url)
        level = config.isolation_mode.removeprefix("SQL_SERVER_").replace("_", " ")
        self._engine = engine_of(url, self.session, self._tls, isolation=None if level == "DEFAULT" else level)
        self._driver_error: tuple[type[Exception], ...] = (driver_error_of(self._engine),)
        self._postgres: PostgresArrow | PostgresCopy | None = None
        self._mysql: MySqlArrow | None = None
        if config.reader == "auto":
            self._fetch_arrow(url)
        self.border = border_of(url, config, self._driver_error)
        self._connection: sa.Connection | None = None
        self._stream: sa.CursorResult[Any] | None = None
        self._exported: str | None = None

    def _fetch_arrow(self, url: sa.URL) -> None:
        if url.drivername == "postgresql+psycopg" and is_installed():
            import adbc_driver_manager

            given = self._engine.dialect.create_connect_args(url)[1]
            arguments = {name: value for name, value in given.items() if isinstance(value, str | int)}
            if libpq_module() is None:
                self._postgres = PostgresArrow(arguments, self.session)
            else:
                from connectors.jdbc.connection.postgres_copy import PostgresCopy

                self._postgres = PostgresCopy(arguments, self.session)
            self._driver_error += (adbc_driver_manager.Error,)
        elif url.drivername in {"mysql+pymysql", "mariadb+pymysql"}:
            self._mysql = MySqlArrow()

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Columns that statements turn into text, because the reader has no lossless form of them."""
        if self._postgres is not None:
            return frozenset({Raw.DECIMAL})
        # Python has no 24:00:00, no infinity, no zero date and no year 10000.
        generic = self._mysql is None and self.dialect_name in {"postgresql", *_MYSQL}
        return frozenset({Raw.DATE, Raw.TIME, Raw.WALL_CLOCK, Raw.INSTANT}) if generic else frozenset()

    @property
    def connection(self) -> sa.Connection:
        """The open connection; connects when there is none. RetriableError: not now."""
        if self._connection is None or self._connection.invalidated or self._connection.closed:
            self.close()
            self._connection = self._connected()
        return self._connection

    def _connected(self) -> sa.Connection:
        try:
            with self.border.translated("connecting", "Check connection.url, connection.user and connection.password."):
                return self._engine.connect()
        except RetriableError:
            raise
        except ConnectError as error:
            if not self._waits:
                raise
            raise RetriableError(f"{error.message} {error.fix}") from error

    @property
    def is_mariadb(self) -> bool:
        """Whether the server says it is MariaDB, under either name in the URL."""
        return bool(getattr(self.connection.dialect, "is_mariadb", False))

    @property
    def driver_arguments(self) -> dict[str, Any]:
        """What the driver connects with, for connections of another kind. Holds the password."""
        given = {**self._engine.dialect.create_connect_args(self._engine.url)[1], **self._tls}
        return {name: value for name, value in given.items() if isinstance(value, str | int) or name == "ssl"}

    def inspector(self) -> sa.Inspector:
        """The catalog, read anew."""
        return sa.inspect(self.connection)

    def scalar(self, statement: sa.Select[Any] | sa.TextClause, doing: str) -> Any:
        """The first value of a statement's first row, None without a row."""
        connection = self.connection
        with self.border.translated(doing):
            return connection.execute(statement).scalar()

    def describe(self, statement: sa.Select[Any], doing: str) -> Sequence[Sequence[Any]]:
        """A statement's columns, their names first, as the driver describes them; nothing is fetched."""
        return self.look_at(statement, doing, _description)

    def describe_to_read(self, statement: sa.Select[Any], doing: str) -> Sequence[Sequence[Any]]:
        """The same as `describe`, told in the session in which `pages` reads, where that can tell.

        A session that keeps the columns as they are blocks an ALTER TABLE. If another one then read, it would wait
        behind that ALTER TABLE for this one, and no server sees a deadlock in it.
        """
        if self._postgres is not None:
            self._let_go()
            found = self._postgres.describe(self._literal(statement), self.border, doing, self._exported)
            if found is not None:
                return found
        return self.describe(statement, doing)

    def look_at(self, statement: sa.Select[Any], doing: str, look: Callable[[Any], T]) -> T:
        """What `look` sees in the driver's cursor behind a statement; nothing is fetched."""
        connection = self.connection
        with self.border.translated(doing), connection.execute(statement) as result:
            return look(result.cursor)

    def rows(self, statement: sa.Select[Any] | sa.TextClause, doing: str) -> list[Sequence[Any]]:
        """Every row of a small result."""
        connection = self.connection
        with self.border.translated(doing):
            return list(connection.execute(statement))

    def run(self, statement: str, doing: str) -> None:
        """A statement without a result."""
        connection = self.connection
        with self.border.translated(doing):
            connection.exec_driver_sql(statement)

    def told(self, ask: Callable[[], T]) -> T | None:
        """What the server answers, in a transaction of its own; None where it will not. RetriableError: not now."""
        try:
            return ask()
        except RetriableError:
            raise
        except ConnectError:
            return None
        finally:
            self.end_transaction()

    def pin(self, doing: str) -> tuple[str, bool]:
        """PostgreSQL: begin a transaction of one snapshot, in which `pages` will read; the snapshot as
        pg_current_snapshot writes it, and whether the server is a standby. No transaction may be open.
        """
        connection = self.connection
        with self.border.translated(doing):
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            snapshot, is_standby = connection.execute(sa.text(_SNAPSHOT)).one()
        if self._postgres is not None and not self._exports(doing):
            return self.pin(doing)
        return str(snapshot), bool(is_standby)

    def _exports(self, doing: str) -> bool:
        """Whether readers on connections of their own can take up the snapshot; if not, they are not used any more."""
        try:
            self._exported = str(self.scalar(sa.text(_EXPORT), doing))
        except RetriableError:
            raise
        except ConnectError as error:
            _log.warning("Rows are read as with reader=generic, as the server exports no snapshot: %s", error.message)
            assert self._postgres is not None
            self._postgres.close()
            self._postgres = None
            self.end_transaction()
            return False
        return True

    def pages(self, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Read a statement as Arrow where there is a driver for it, else with a streaming cursor.

        SQLite's own cursor streams by itself and gives plain tuples, which cost less than SQLAlchemy's rows. Other
        drivers need stream_results, under which SQLAlchemy has taken rows from the cursor already.
        """
        connection = self.connection
        if self._postgres is not None:
            self._let_go()
            pages = self._postgres.pages(self._literal(statement), rules, self.border, doing, self._exported)
            if self._exported is not None:
                self._forget(connection)
            return pages
        if self._mysql is not None:
            if not connection.in_transaction():
                connection.begin()
            driver = connection.connection.driver_connection
            return self._mysql.pages(driver, self._literal(statement), rules, self.border, doing)
        options = {} if self.dialect_name == "sqlite" else {"stream_results": True, "max_row_buffer": FETCH_ROWS}
        with self.border.translated(doing):
            result = self._stream = connection.execute(statement, execution_options=options)
        fetch = result.cursor.fetchmany if result.cursor is not None and not options else result.fetchmany
        return CursorPages(result, fetch, rules, self.border, doing)

    def _let_go(self) -> None:
        """End a transaction that holds no snapshot for another session; it may hold locks."""
        if self._exported is None and self._connection is not None:
            self._forget(self._connection)

    def _forget(self, connection: sa.Connection) -> None:
        self._exported = None
        if connection.in_transaction():
            with self.border.translated("ending the read transaction"):
                connection.rollback()

    def _literal(self, statement: sa.Select[Any]) -> str:
        # The drivers quote the parameters; readers that fetch Arrow take none.
        compiled = statement.compile(dialect=self.connection.dialect)
        values = compiled.construct_params()
        driver: Any = self.connection.connection.driver_connection
        if self._mysql is not None:
            return str(driver.cursor().mogrify(str(compiled), values))
        from psycopg import ClientCursor

        return ClientCursor(driver).mogrify(str(compiled), values)

    def end_transaction(self) -> None:
        """Let go of the snapshot and every lock."""
        self._stream = None
        if self._postgres is not None:
            with self.border.translated("ending the read transaction"):
                self._postgres.end_transaction()
        if self._connection is not None:
            self._forget(self._connection)

    def interrupt(self) -> None:
        """Break off a running statement; for any thread."""
        connection = self._connection
        # The reading thread may close the connection at this very moment.
        with suppress(sa.exc.SQLAlchemyError, *self._driver_error):
            if connection is not None and not connection.closed and not connection.invalidated:
                self._interrupt(connection)

    def _interrupt(self, connection: sa.Connection) -> None:
        if self.dialect_name in _MYSQL:
            self._kill_query(connection)
            return
        if self._postgres is not None:
            self._postgres.interrupt()
        driver: Any = connection.connection.driver_connection
        for name in ("interrupt", "cancel"):
            if hasattr(driver, name):
                getattr(driver, name)()
                return

    def _kill_query(self, connection: sa.Connection) -> None:
        # A streamed result can only be left by reading it to its end, unless the server breaks it off.
        driver: Any = connection.connection.driver_connection
        with suppress(sa.exc.SQLAlchemyError, *self._driver_error):
            if OTHER_SERVERS in self._engine.url.query:
                # On another server the number is another session's.
                arguments = {n: v for n, v in self.driver_arguments.items() if n != OTHER_SERVERS}
                with tls.connect(**{**arguments, "host": driver.host, "port": driver.port}) as other:
                    other.query(f"KILL QUERY {int(driver.thread_id())}")
                return
            with self._engine.connect() as other:
                other.exec_driver_sql(f"KILL QUERY {int(driver.thread_id())}")

    def close(self) -> None:
        """Close the connection; what is already gone does not matter."""
        connection, self._connection, self._exported = self._connection, None, None
        if self._postgres is not None:
            self._postgres.close()
        if connection is None:
            return
        stream, self._stream = self._stream, None
        reading = stream is not None or (self._mysql is not None and self._mysql.is_reading)
        if reading and self.dialect_name in _MYSQL and not (connection.closed or connection.invalidated):
            self._kill_query(connection)
            connection.invalidate()
        if stream is not None and connection.invalidated and self._engine.url.drivername in tls.DRIVERS:
            _abandon(stream.cursor)
        with suppress(sa.exc.SQLAlchemyError, *self._driver_error):
            if stream is not None:
                stream.close()
        with suppress(sa.exc.SQLAlchemyError, *self._driver_error):
            connection.close()


def _description(cursor: Any) -> Sequence[Sequence[Any]]:
    result = getattr(cursor, "pgresult", None)
    return columns_told(result) if result is not None else (cursor and cursor.description) or ()


def _abandon(cursor: Any) -> None:
    """PyMySQL reads a streamed result to its end before it lets go of it, in vain when the connection is closed."""
    result = getattr(cursor, "_result", None)
    if result is not None:
        result.unbuffered_active = False
