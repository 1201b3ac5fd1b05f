"""Describes SQLite, part by part."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect, UrlPart, part


class Sqlite(Dialect):
    """Describes SQLite."""

    title = "SQLite"
    java_name = "Sqlite"

    url = UrlPart("sqlite.url:SqliteUrl")
    sessions = part("sqlite.sessions:SqliteSessions")
    types = part("sqlite.types:SqliteTypes")
    connecting = part("sqlite.connecting:SqliteConnecting")
    sink = part("sqlite.writing:SqliteWriting")
    catalog = part("sqlite.catalog:SqliteCatalog")
    plans = part("sqlite.plans:SqlitePlans")
    settled = part("sqlite.settled:SqliteSettled")
    cursors = part("sqlite.cursors:SqliteCursors")
