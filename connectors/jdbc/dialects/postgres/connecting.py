"""Connects to servers of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.dialects.postgres.arrow import columns_told
from connectors.jdbc.dialects.postgres.libpq_connecting import LibpqConnecting
from connectors.jdbc.dialects.postgres.reader import PostgresReader

_PSYCOPG = "postgresql+psycopg"


class PostgresConnecting(LibpqConnecting):
    """Connects to PostgreSQL."""

    quick_connections = 2
    extras: ClassVar[Mapping[str, str]] = {_PSYCOPG: "jdbc-postgres"}

    def engine_options(self, url: sa.URL) -> dict[str, Any]:
        """Return further arguments of SQLAlchemy's create_engine."""
        # Without it names come as bytes if the database's encoding is SQL_ASCII.
        return {"client_encoding": "utf8"} if url.drivername == _PSYCOPG else {}

    def description(self, cursor: Any) -> Sequence[Sequence[Any]]:
        """Return the columns of a statement as libpq describes them; as the cursor does if the driver hides libpq."""
        result = getattr(cursor, "pgresult", None)
        return super().description(cursor) if result is None else columns_told(result)

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows; it reads them as Arrow with psycopg alone."""
        return PostgresReader(engine, session, is_quick=is_quick and engine.url.drivername == _PSYCOPG)
