"""Reads PostgreSQL's rows as Arrow by the ADBC driver, which uses COPY in binary form on a separate connection."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connectors.jdbc.connection.arrow_pages import ArrowPages, Columns
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.types import Raw
from connectors.jdbc.values.unconvertible_rows import BadCells

_CHUNK_BYTES = 16 << 20
_PASSING = re.compile(
    r"terminating connection|closed the connection|shut(ting)? ?down|conflict with recovery|canceling"
)
_FITTING = {
    Raw.INTEGER: pa.types.is_integer, Raw.FLOAT: pa.types.is_floating, Raw.DECIMAL: pa.types.is_string,
    Raw.BOOLEAN: pa.types.is_boolean, Raw.TEXT: pa.types.is_string, Raw.BYTES: pa.types.is_binary,
    Raw.DATE: pa.types.is_date32, Raw.TIME: pa.types.is_time64, Raw.WALL_CLOCK: pa.types.is_timestamp,
    Raw.INSTANT: pa.types.is_timestamp,
}  # fmt: skip


def is_installed() -> bool:
    """Return True if the ADBC driver is installed; without it and native code, rows are read by psycopg.

    The driver is not loaded here, as it loads polars (40 MB) if that is installed.
    """
    return all(importlib.util.find_spec(name) is not None for name in ("adbc_driver_manager", "adbc_driver_postgresql"))


def driver_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the ADBC driver, which must be installed."""
    import adbc_driver_manager

    return (adbc_driver_manager.Error,)


def taking_up(snapshot: str | None) -> tuple[str, ...]:
    """Return the statements that begin a transaction in the exported snapshot of this name; none if it is None."""
    if snapshot is None:
        return ()
    name = snapshot.replace("'", "''")
    return "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", f"SET TRANSACTION SNAPSHOT '{name}'"


def columns_told(result: Any) -> list[tuple[str, int, int]]:
    """Return the name, type number (oid) and type modifier of each column of libpq's result or description."""
    named = ((result.fname(i) or b"").decode(errors="replace") for i in range(result.nfields))
    return [(name, result.ftype(i), result.fmod(i)) for i, name in enumerate(named)]


class PostgresArrow:
    """Reads the rows of statements as Arrow. Owned by the reading thread; `interrupt` is for any thread."""

    def __init__(self, arguments: Mapping[str, Any], statements: tuple[str, ...]) -> None:
        """Take the parameters of libpq in `arguments`, and the statements that each session begins with."""
        self._arguments = arguments
        self._statements = statements
        self._connection: Any = None
        self._cursor: Any = None

    def pages(
        self, sql: str, rules: PageRules, errors: ErrorTranslator, doing: str, snapshot: str | None = None
    ) -> Pages:
        """Return the pages of rows of a statement without parameters, read in the exported snapshot if one is named.

        SchemaError: the driver gives a column in an unexpected type.
        """
        from connectors.jdbc.connection.unchecked_text import checked

        with errors.translated(doing):
            if self._connection is None:
                self._connection = self._connect()
            with self._connection.cursor() as begun:
                for statement in taking_up(snapshot):
                    begun.execute(statement)
            cursor = self._cursor = self._connection.cursor()
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_CHUNK_BYTES)})
            cursor.execute(sql)
            reader = cursor.fetch_record_batch()
        for plan, field in zip(rules.format.columns, reader.schema, strict=False):
            if not _FITTING[plan.raw](field.type):
                raise SchemaError(
                    f"The column comes as {field.type}, not as {plan.raw}.", field=plan.name, fix="Set reader=generic."
                )
        bad: BadCells | None = {} if rules.sets_bad_aside else None
        chunks = checked(_chunks(reader, rules.format, errors, doing), rules.format, bad)
        return ArrowPages(chunks, rules, self._close_cursor, bad)

    def describe(self, *_: object) -> None:
        """Return None, as the driver tells no lengths and digits of columns."""

    def end_transaction(self) -> None:
        """End the transaction, and with it the snapshot and every lock."""
        self._close_cursor()
        if self._connection is not None:
            self._connection.rollback()

    def interrupt(self) -> None:
        """Cancel a running statement. For any thread."""
        cursor = self._cursor
        if cursor is not None:
            import adbc_driver_manager

            # The statement may end by itself at this very moment.
            with suppress(adbc_driver_manager.Error):
                cursor.adbc_cancel()

    def close(self) -> None:
        """Close the connection; errors of a connection that is already closed are ignored."""
        if self._connection is None:
            return
        import adbc_driver_manager

        connection, self._connection = self._connection, None
        with suppress(adbc_driver_manager.Error, pa.ArrowException):
            self._close_cursor()
        # RuntimeError: a statement could not be closed, as the server is gone.
        with suppress(adbc_driver_manager.Error, RuntimeError):
            connection.close()

    def _connect(self) -> Any:
        import adbc_driver_postgresql.dbapi
        from psycopg.conninfo import make_conninfo

        from connectors.jdbc.connection.unchecked_text import AS_STORED, STORED_ENCODING, UNCHECKED

        connection = adbc_driver_postgresql.dbapi.connect(make_conninfo(**self._arguments))
        with connection.cursor() as cursor:
            for statement in self._statements:
                cursor.execute(statement)
            cursor.execute(STORED_ENCODING)
            if cursor.fetchone() == (UNCHECKED,):
                cursor.execute(AS_STORED)
        connection.commit()
        return connection

    def _close_cursor(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()


def _chunks(reader: pa.RecordBatchReader, form: RowFormat, errors: ErrorTranslator, doing: str) -> Iterator[Columns]:
    # An oid comes as a signed integer of the same size.
    unsigned = [(field.metadata or {}).get(b"POSTGRESQL:type") == b"oid" for field in reader.schema]
    text = [place for place, plan in enumerate(form.columns) if plan.raw is Raw.TEXT]
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            # The stream's errors carry no state of their own.
            said = errors.failed(doing, error)
            if "ERROR:" in said and not _PASSING.search(said):
                raise ConnectError(said, fix="Check the table, its columns and the rights of the user.") from None
            raise RetriableError(said) from None
        if batch.num_rows:
            columns = zip(batch.columns, unsigned, strict=True)
            made = [c.view(pa.uint32()).cast(pa.int64()) if is_oid else c for c, is_oid in columns]
            for place in text:
                # The driver assumes that every text is UTF-8.
                made[place] = made[place].view(pa.binary())
            yield made
