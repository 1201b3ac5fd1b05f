"""Opens files of DuckDB, and reads their rows as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

import pyarrow as pa
import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connectors.jdbc.connection.arrow_pages import ArrowPages, Columns
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.duckdb.url import DRIVER
from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.unconvertible_rows import BadCells

_MOST_ROWS: Final = 65_536
"""A chunk of Arrow has this many rows at most."""


class DuckDbConnecting(Connecting):
    """Opens files of DuckDB, which are read and never written."""

    extras: ClassVar[Mapping[str, str]] = {DRIVER: "jdbc-duckdb"}

    def __init__(self) -> None:
        """Have SQLAlchemy take the completed dialect, which is loaded when an engine is made."""
        sa.dialects.registry.register(DRIVER, "connectors.jdbc.dialects.duckdb.engine_dialect", "DuckDbEngineDialect")

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL as it is: a file needs no time limit, and is never created."""
        del connect_timeout_s, creates_file
        return url

    def without_own_secrets(self, url: sa.URL, allowed: AllowedPaths) -> sa.URL:
        """Return the URL with the files and folders that the worker allows, as SQL could name any file."""
        folders = ", ".join(_literal(f"{str(path).rstrip('/')}/") for path in allowed.folders)
        files = ", ".join(_literal(str(path)) for path in allowed.files)
        return url.update_query_dict({"allowed_directories": f"[{folders}]", "allowed_paths": f"[{files}]"})

    def shown(self, url: sa.URL) -> str:
        """Return the database as messages name it."""
        return f"DuckDB database {url.database or ':memory:'}"

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows."""
        del engine, session
        return DuckDbReader(is_quick=is_quick)


def _literal(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


class DuckDbReader(CursorReader):
    """Reads rows of DuckDB as Arrow, and closes the file after each pass, so that other processes can write to it."""

    def __init__(self, *, is_quick: bool) -> None:
        """Read as Arrow if `is_quick`."""
        super().__init__()
        self._is_quick = is_quick
        self._reading: Any = None

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Return the pages of rows of a statement."""
        if not self._is_quick:
            return super().pages(link, statement, rules, doing)
        compiled: Any = statement.compile(dialect=link.connection.dialect)
        given = [compiled.params[name] for name in compiled.positiontup or ()]
        with link.errors.translated(doing):
            self._reading = link.driver.duplicate()
            found = self._reading.sql(str(compiled), params=given)
            batches = found.to_arrow_reader(min(rules.rows, _MOST_ROWS))
        bad: BadCells | None = {} if rules.sets_bad_aside else None
        return ArrowPages(_chunks(batches, rules.format, bad, link.errors, doing), rules, batches.close, bad)

    def end_transaction(self, link: ReopenedConnection) -> None:
        """End the transaction and close the file."""
        super().end_transaction(link)
        self.close(link)
        link.close()

    def interrupt(self, link: ReopenedConnection, connection: sa.Connection) -> None:
        """Interrupt a running statement. For any thread."""
        del link, connection
        if (reading := self._reading) is not None:
            reading.interrupt()

    def close(self, link: ReopenedConnection) -> None:
        """Close the statement that is being read, before the connection is closed."""
        reading, self._reading = self._reading, None
        if reading is not None:
            with suppress(*link.driver_errors):
                reading.close()
        super().close(link)


def _chunks(
    batches: pa.RecordBatchReader, form: RowFormat, bad: BadCells | None, errors: ErrorTranslator, doing: str
) -> Iterator[Columns]:
    """Yield the columns of each batch, in the Arrow types that `ArrowPages` takes."""
    while True:
        with errors.translated(doing):
            batch = next(batches, None)
        if batch is None:
            return
        if bad is not None:
            bad.clear()
        plans = form.columns
        made = [form.guarded(plan, column, _plain, bad) for plan, column in zip(plans, batch.columns, strict=False)]
        yield [*made, *batch.columns[len(plans) :]]


def _plain(plan: ColumnPlan, array: pa.Array) -> pa.Array:
    if plan.raw is Raw.TEXT and pa.types.is_dictionary(array.type):
        return array.cast(pa.string())
    if pa.types.is_timestamp(array.type) and array.type.unit != "us":
        return array.cast(pa.timestamp("us", array.type.tz))
    return array
