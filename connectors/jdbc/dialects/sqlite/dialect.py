"""Describes SQLite, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect

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

    @cached_property
    def sessions(self) -> Sessions:
        """Return how its sessions begin."""
        from connectors.jdbc.dialects.sqlite.sessions import SqliteSessions

        return SqliteSessions()

    @cached_property
    def types(self) -> ColumnTypes:
        """Return what its column types hold."""
        from connectors.jdbc.dialects.sqlite.types import SqliteTypes

        return SqliteTypes()

    @cached_property
    def connecting(self) -> Connecting:
        """Return how it is connected to."""
        from connectors.jdbc.dialects.sqlite.connecting import SqliteConnecting

        return SqliteConnecting()

    @cached_property
    def sink(self) -> Writing | None:
        """Return what the sink needs to know of it."""
        from connectors.jdbc.dialects.sqlite.writing import SqliteWriting

        return SqliteWriting()

    @cached_property
    def catalog(self) -> Catalog:
        """Return what its catalog has."""
        from connectors.jdbc.dialects.sqlite.catalog import SqliteCatalog

        return SqliteCatalog()

    @cached_property
    def plans(self) -> Plans:
        """Return how it explains polls."""
        from connectors.jdbc.dialects.sqlite.plans import SqlitePlans

        return SqlitePlans()

    @cached_property
    def settled(self) -> Settled:
        """Return up to when its work is settled."""
        from connectors.jdbc.dialects.sqlite.settled import SqliteSettled

        return SqliteSettled()

    @cached_property
    def cursors(self) -> Cursors:
        """Return how its rows are followed."""
        from connectors.jdbc.dialects.sqlite.cursors import SqliteCursors

        return SqliteCursors()
