"""Gives access to the sink's database: transactions, changes of tables, the catalog. Every driver error is
translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connectors.jdbc.connection.engine import engine_of, url_of
from connectors.jdbc.connection.errors import original_of
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.sink.refusals import RefusedRowsError, is_changed_table, is_denied, refuses_rows
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

_GRANT_FIX = (
    "GRANT the user what it lacks: INSERT, with insert.mode=upsert or update also UPDATE and SELECT, with "
    "delete.enabled also DELETE; with auto.create and auto.evolve CREATE and ALTER."
)
_TABLE_FIX = "Check the table and its columns."


class DeniedError(ConnectError):
    """Says that the user lacks a right."""


class RefusedAtCommitError(RefusedRowsError):
    """Says that rows were refused when their transaction was to be committed, so that nothing of it was written."""


class TargetDatabase:
    """Keeps one connection, which is opened when it is first used. Owned by the task thread."""

    def __init__(self, config: JdbcSinkConfig, *, connect_timeout_s: int | None = None) -> None:
        """Connect to nothing. ConfigError: the URL is unusable, or its driver is missing."""
        url = url_of(config, connect_timeout_s=connect_timeout_s, creates_file=True)
        self.dialect = dialect_of(config.connection_url)
        assert self.dialect.sink is not None  # as the settings were checked
        self.writing = self.dialect.sink
        url, secured = self.dialect.connecting.take_tls(url)
        engine = engine_of(self.dialect, url, self.dialect.sessions.writing, secured)
        self.writing.prepare_engine(engine)
        self._link = ReopenedConnection(self.dialect, engine, config, secured, (), waits=False)
        self._caught: tuple[type[Exception], ...] = (*self._link.driver_errors, sa.exc.SQLAlchemyError)
        self._errors = self._link.errors

    @property
    def sql_dialect(self) -> sa.Dialect:
        """Return SQLAlchemy's dialect of this database."""
        return self._link.engine.dialect

    @property
    def connection(self) -> sa.Connection:
        """Return the open connection; connect if there is none. RetriableError: it fails for now. ConnectError: it is
        refused.
        """
        if not self._link.is_open:
            self.close()
            self._link.open()
        return self._link.connection

    @contextmanager
    def transaction(self, doing: str) -> Iterator[sa.Connection]:
        """Yield a transaction that is committed at the end of the block, and rolled back by an error in it.

        RetriableError: it is not known if the transaction was committed, or a table has changed. RefusedAtCommitError:
        rows break a constraint that is checked at the commit. ConnectError: for other reasons, as a right that is
        missing.
        """
        connection = self.connection
        try:
            with self._translated(doing), connection.begin() as begun:
                yield connection
                self._commit(begun, doing)
        except RetriableError:
            # The next try gets a new connection, as this one may be in a bad state.
            with suppress(*self._caught):
                connection.invalidate()
            self.close()
            raise

    @contextmanager
    def part(self, connection: sa.Connection) -> Iterator[sa.NestedTransaction]:
        """Run a part of a transaction. RefusedRowsError: the database refuses its rows, and only this part is
        undone.
        """
        try:
            with connection.begin_nested() as point:
                yield point
        except self._caught as error:
            original = original_of(error)
            if is_denied(original):
                failed = self._errors.failed("writing rows", original)
                raise DeniedError(failed, key="connection.user", fix=_GRANT_FIX) from None
            if not refuses_rows(original):
                raise
            raise RefusedRowsError(self._errors.failed("writing rows", original)) from None

    def tried(self, connection: sa.Connection, write: Callable[[], None]) -> Exception | None:
        """Return why the database refuses what `write` does, or None if it accepts it.

        Constraints that the database checks late are checked, too. In the end all changes are undone.
        """
        try:
            # Only one savepoint is used: when it is undone, PostgreSQL checks constraints late again. With a savepoint
            # inside another one it would not.
            with self.part(connection) as point:
                write()
                self.check_constraints(connection)
                point.rollback()
        except (RefusedRowsError, SchemaError) as error:
            return error
        return None

    def check_constraints(self, connection: sa.Connection) -> None:
        """Check every late constraint of the transaction now instead of at its end, if the database has such
        constraints.
        """
        self.writing.check_constraints(connection)

    @contextmanager
    def catalog(self, doing: str) -> Iterator[sa.Inspector]:
        """Yield a new inspector of the catalog. It reads in the open transaction if there is one."""
        current = self._link.current
        if current is not None and current.in_transaction():
            yield sa.inspect(current)
            return
        with self.transaction(doing) as connection:
            yield sa.inspect(connection)

    def change(self, statements: Sequence[str], doing: str) -> None:
        """Run statements that change tables, in one transaction if the database allows that."""
        with self.transaction(doing) as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def ensure(self, table: sa.Table) -> None:
        """Make one of the sink's own tables if it is missing."""
        try:
            with self.transaction(f"making table {table.name}") as connection:
                table.create(connection, checkfirst=True)
        except ConnectError:
            # Another task may have made it at the same time.
            with self.catalog(f"looking for table {table.name}") as inspector:
                if not inspector.has_table(table.name):
                    raise

    def close(self) -> None:
        """Close the connection; one that is already gone is ignored. May be called twice."""
        self._link.close()

    def _commit(self, begun: sa.RootTransaction, doing: str) -> None:
        try:
            begun.commit()
        except self._caught as error:
            original = original_of(error)
            if not refuses_rows(original):
                raise
            begun.rollback()
            raise RefusedAtCommitError(self._errors.failed(doing, original), fix=_TABLE_FIX) from None

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except self._caught as error:
            original = original_of(error)
            if is_changed_table(original):
                raise RetriableError(f"{self._errors.failed(doing, original)} The table is looked at again.") from None
            if is_denied(original):
                raise DeniedError(self._errors.failed(doing, original), key="connection.user", fix=_GRANT_FIX) from None
            with self._errors.translated(doing, _TABLE_FIX):
                raise
