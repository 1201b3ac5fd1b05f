"""Describes PostgreSQL, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.catalog import Catalog
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.log import LogSupport
    from connectors.jdbc.dialects.generic.plans import Plans
    from connectors.jdbc.dialects.generic.rights import Rights
    from connectors.jdbc.dialects.generic.server import Server
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.settled import Settled
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

    @cached_property
    def catalog(self) -> Catalog:
        """Return what its catalog has."""
        from connectors.jdbc.dialects.postgres.catalog import PostgresCatalog

        return PostgresCatalog()

    @cached_property
    def plans(self) -> Plans:
        """Return how it explains polls."""
        from connectors.jdbc.dialects.postgres.plans import PostgresPlans

        return PostgresPlans()

    @cached_property
    def server(self) -> Server:
        """Return what a server says of itself."""
        from connectors.jdbc.dialects.postgres.server import PostgresServer

        return PostgresServer()

    @cached_property
    def rights(self) -> Rights:
        """Return which rights its users need."""
        from connectors.jdbc.dialects.postgres.rights import PostgresRights

        return PostgresRights()

    @cached_property
    def settled(self) -> Settled:
        """Return up to when its work is settled."""
        from connectors.jdbc.dialects.postgres.settled import PostgresSettled

        return PostgresSettled()

    @cached_property
    def log(self) -> LogSupport | None:
        """Return how its log is read."""
        from connectors.jdbc.dialects.postgres.log import PostgresLogSupport

        return PostgresLogSupport()
