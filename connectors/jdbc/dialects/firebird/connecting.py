"""Connects to servers of Firebird, and chooses the kind of transactions in which rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import event

from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.dialects.firebird.url import DRIVER
from connectors.jdbc.dialects.generic.connecting import Connecting

_ENGINE_DIALECT: Final = "connectors.jdbc.dialects.firebird.engine_dialect"


class FirebirdConnecting(Connecting):
    """Connects to Firebird."""

    ping = "SELECT 1 FROM RDB$DATABASE"
    installed_by: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("firebird", DRIVER),
        "pip install 'connect-for-kafka[jdbc-firebird]' && "
        "pip install --no-deps sqlalchemy-firebird firebird-driver firebird-base",
    )

    def __init__(self) -> None:
        """Have SQLAlchemy take the completed dialect, which is loaded when an engine is made."""
        for name in ("firebird", "firebird.firebird"):
            sa.dialects.registry.register(name, _ENGINE_DIALECT, "FirebirdEngineDialect")

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with a character set for the connection: its own one, else UTF-8."""
        del connect_timeout_s, creates_file
        return url if "charset" in url.query else url.update_query_dict({"charset": "UTF8"})

    def shown(self, url: sa.URL) -> str:
        """Return the database as messages name it."""
        return f"Firebird database {url.host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}"

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows. Its transactions cannot write, so that no settled time waits for their end."""
        del session, is_quick

        @event.listens_for(engine, "connect")
        def connected(connection: Any, _record: object) -> None:
            from firebird.driver import Isolation, TraAccessMode, tpb

            begun = tpb(Isolation.SNAPSHOT, access_mode=TraAccessMode.READ)
            connection.main_transaction.default_tpb = begun

        return CursorReader()
