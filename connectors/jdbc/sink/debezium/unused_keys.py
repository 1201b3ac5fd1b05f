"""Holds the answers to keys of Debezium's JDBC sink that have no effect here. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_POOL: Final = "a task has one connection, and keeps it as long as it runs"
HIBERNATE: Final = "hibernate."
"""Debezium passes keys that begin with this on to its library, which does not run here."""
WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connection.provider": _POOL,
        "connection.pool.min_size": _POOL,
        "connection.pool.max_size": _POOL,
        "connection.pool.acquire_increment": _POOL,
        "connection.pool.timeout": _POOL,
        "connection.restart.on.errors": "a connection that is lost is always opened again",
        "use.reduction.buffer": "with upsert, update and deletes only the last change of a key in a batch is written "
        "anyway; with insert.mode=insert each record is a row",
        "dialect.postgres.unnest.insert.enabled": "rows are always written by COPY, which is quicker",
        "dialect.postgres.postgis.schema": "of geometries only points are written to PostgreSQL, without PostGIS",
        "dialect.sqlserver.identity.insert": "SQL Server is not written to here",
        "collection.table.format": "Debezium itself reads it nowhere; collection.name.format names the table",
        "openlineage.integration.enabled": "no lineage is sent here",
    }
)
"""Maps keys that are accepted to the reason why they change nothing."""
