"""Describes PostgreSQL, part by part."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect, UrlPart, part


class Postgres(Dialect):
    """Describes PostgreSQL."""

    title = "PostgreSQL"
    java_name = "PostgreSql"

    url = UrlPart("postgres.url:PostgresUrl")
    sessions = part("postgres.sessions:PostgresSessions")
    types = part("postgres.types:PostgresTypes")
    connecting = part("postgres.connecting:PostgresConnecting")
    sink = part("postgres.writing:PostgresWriting")
    catalog = part("postgres.catalog:PostgresCatalog")
    plans = part("postgres.plans:PostgresPlans")
    server = part("postgres.server:PostgresServer")
    rights = part("postgres.rights:PostgresRights")
    settled = part("postgres.settled:PostgresSettled")
    log = part("postgres.log:PostgresLogSupport")
