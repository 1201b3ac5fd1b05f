"""Describes SQLite, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, Part

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

    sessions: Part[Sessions] = Part("sqlite.sessions:SqliteSessions")
    types: Part[ColumnTypes] = Part("sqlite.types:SqliteTypes")
    connecting: Part[Connecting] = Part("sqlite.connecting:SqliteConnecting")
    sink: Part[Writing | None] = Part("sqlite.writing:SqliteWriting")
    catalog: Part[Catalog] = Part("sqlite.catalog:SqliteCatalog")
    plans: Part[Plans] = Part("sqlite.plans:SqlitePlans")
    settled: Part[Settled] = Part("sqlite.settled:SqliteSettled")
    cursors: Part[Cursors] = Part("sqlite.cursors:SqliteCursors")
