"""Connects to servers of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connect.lib.libpq import password_file, without_own_password
from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.postgres.arrow import columns_told
from connectors.jdbc.dialects.postgres.key_files import with_pem_key
from connectors.jdbc.dialects.postgres.reader import PostgresReader

_PSYCOPG = "postgresql+psycopg"


class PostgresConnecting(Connecting):
    """Connects to PostgreSQL."""

    quick_connections = 2
    extras: ClassVar[Mapping[str, str]] = {_PSYCOPG: "jdbc-postgres"}

    def without_own_secrets(self, url: sa.URL, allowed: AllowedPaths) -> sa.URL:
        """Return the URL changed so that libpq reads no password file, unless the worker allows that file."""
        if allowed.allow(password_file()):
            return url
        return url.update_query_dict(without_own_password(url.password or url.query.get("password")))

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with its key as libpq reads it."""
        made = super().completed(url, connect_timeout_s=connect_timeout_s, creates_file=creates_file)
        return with_pem_key(made)

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
