"""Describes PostgreSQL, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm
    from connectors.jdbc.dialects.generic.writing import Writing


class Postgres(Dialect):
    """Describes PostgreSQL."""

    title = "PostgreSQL"
    java_name = "PostgreSql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.postgres.url import PostgresUrl

        return PostgresUrl(self.name)

    @cached_property
    def sessions(self) -> Sessions:
        """Return how its sessions begin."""
        from connectors.jdbc.dialects.postgres.sessions import PostgresSessions

        return PostgresSessions()

    @cached_property
    def types(self) -> ColumnTypes:
        """Return what its column types hold."""
        from connectors.jdbc.dialects.postgres.types import PostgresTypes

        return PostgresTypes()

    @cached_property
    def connecting(self) -> Connecting:
        """Return how it is connected to."""
        from connectors.jdbc.dialects.postgres.connecting import PostgresConnecting

        return PostgresConnecting()

    @cached_property
    def sink(self) -> Writing | None:
        """Return what the sink needs to know of it."""
        from connectors.jdbc.dialects.postgres.writing import PostgresWriting

        return PostgresWriting()
