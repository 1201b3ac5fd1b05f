"""Describes SQLite, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, DialectPart

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.catalog import Catalog
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.cursors import Cursors
    from connectors.jdbc.dialects.generic.plans import Plans
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.settled import Settled
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm
    from connectors.jdbc.dialects.generic.writing import Writing


class Sqlite(Dialect):
    """Describes SQLite."""

    title = "SQLite"
    java_name = "Sqlite"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.sqlite.url import SqliteUrl

        return SqliteUrl(self.name)

    sessions: DialectPart[Sessions] = DialectPart("sqlite.sessions:SqliteSessions")
    types: DialectPart[ColumnTypes] = DialectPart("sqlite.types:SqliteTypes")
    connecting: DialectPart[Connecting] = DialectPart("sqlite.connecting:SqliteConnecting")
    sink: DialectPart[Writing | None] = DialectPart("sqlite.writing:SqliteWriting")
    catalog: DialectPart[Catalog] = DialectPart("sqlite.catalog:SqliteCatalog")
    plans: DialectPart[Plans] = DialectPart("sqlite.plans:SqlitePlans")
    settled: DialectPart[Settled] = DialectPart("sqlite.settled:SqliteSettled")
    cursors: DialectPart[Cursors] = DialectPart("sqlite.cursors:SqliteCursors")
