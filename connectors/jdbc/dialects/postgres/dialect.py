"""Describes PostgreSQL, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, Part

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

    sessions: Part[Sessions] = Part("postgres.sessions:PostgresSessions")
    types: Part[ColumnTypes] = Part("postgres.types:PostgresTypes")
    connecting: Part[Connecting] = Part("postgres.connecting:PostgresConnecting")
    sink: Part[Writing | None] = Part("postgres.writing:PostgresWriting")
    catalog: Part[Catalog] = Part("postgres.catalog:PostgresCatalog")
    plans: Part[Plans] = Part("postgres.plans:PostgresPlans")
    server: Part[Server] = Part("postgres.server:PostgresServer")
    rights: Part[Rights] = Part("postgres.rights:PostgresRights")
    settled: Part[Settled] = Part("postgres.settled:PostgresSettled")
    log: Part[LogSupport | None] = Part("postgres.log:PostgresLogSupport")
