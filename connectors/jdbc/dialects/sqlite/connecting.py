"""Opens files of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

import sqlalchemy as sa

from connectors.jdbc.connection.pages import CursorPages, PageRules, Pages
from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.generic.connecting import Connecting


class SqliteConnecting(Connecting):
    """Opens files of SQLite."""

    # The reading thread uses the connection, and another thread may interrupt it.
    arguments: ClassVar[Mapping[str, Any]] = {"check_same_thread": False}

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL of the file as a URI whose `mode` says if the file is created."""
        del connect_timeout_s
        # mode=rw creates no file. mode=ro could not read a WAL database that no other process has open.
        path = url.database or ":memory:"
        if path in {":memory:", "file::memory:"}:
            return url
        mode = "rwc" if creates_file else "rw"
        return url.set(database=f"file:{quote(path)}", query={"mode": mode, **url.query, "uri": "true"})

    def prepare(self, connection: Any) -> None:
        """Forbid statements to open another file (ATTACH)."""
        if isinstance(connection, sqlite3.Connection):
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)

    def shown(self, url: sa.URL) -> str:
        """Return the database as messages name it."""
        return f"SQLite database {(url.database or ':memory:').removeprefix('file:')}"

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows."""
        del engine, session, is_quick
        return SqliteReader()


class SqliteReader(CursorReader):
    """Reads by the cursor of Python's driver: it streams rows, as tuples that cost less than SQLAlchemy's rows."""

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Return the pages of rows of a statement."""
        with link.errors.translated(doing):
            result = self._stream = link.connection.execute(statement)
        fetch = result.fetchmany if result.cursor is None else result.cursor.fetchmany
        return CursorPages(result, fetch, rules, link.errors, doing)
