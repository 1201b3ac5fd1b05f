"""Describes PostgreSQL, part by part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, DialectPart

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

    sessions: DialectPart[Sessions] = DialectPart("postgres.sessions:PostgresSessions")
    types: DialectPart[ColumnTypes] = DialectPart("postgres.types:PostgresTypes")
    connecting: DialectPart[Connecting] = DialectPart("postgres.connecting:PostgresConnecting")
    sink: DialectPart[Writing | None] = DialectPart("postgres.writing:PostgresWriting")
    catalog: DialectPart[Catalog] = DialectPart("postgres.catalog:PostgresCatalog")
    plans: DialectPart[Plans] = DialectPart("postgres.plans:PostgresPlans")
    server: DialectPart[Server] = DialectPart("postgres.server:PostgresServer")
    rights: DialectPart[Rights] = DialectPart("postgres.rights:PostgresRights")
    settled: DialectPart[Settled] = DialectPart("postgres.settled:PostgresSettled")
    log: DialectPart[LogSupport | None] = DialectPart("postgres.log:PostgresLogSupport")
