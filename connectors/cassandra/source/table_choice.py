"""Chooses the tables of a cluster that a source reads."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConfigError
from connectors.cassandra.cql.keyspaces import no_tables_in
from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraSourceConfig

log = logging.getLogger(__name__)
_OF_OTHER_TOKENS: Final = frozenset(
    {"RandomPartitioner", "ByteOrderedPartitioner", "OrderPreservingPartitioner", "CollatingOrderPreservingPartitioner"}
)


def require_numbered_tokens(database: Queries) -> None:
    """Raise ConfigError if the cluster's tokens are not those of Murmur3, by whose numbers tables are cut into ranges.

    The server takes such a range for one of its own tokens, and gives no row of it, or all rows of the table.
    """
    ((partitioner,),) = database.rows("SELECT partitioner FROM system.local", doing="asking for the partitioner")
    name = str(partitioner).rpartition(".")[2]
    if name in _OF_OTHER_TOKENS:
        raise ConfigError(
            f"The cluster has {name}, and tables are read by the tokens of Murmur3Partitioner.",
            key="contact.points",
            fix="Copy the tables into a cluster with Murmur3Partitioner, or send their changes by `connect agent "
            "cassandra`, which needs no tokens.",
        )


def chosen_tables(schemas: Schemas, config: CassandraSourceConfig) -> list[Table]:
    """Return the tables to read, ordered by name. Wanted tables whose schema cannot be read are logged and left out.

    ConfigError: a named table is missing, or there is no table.
    """
    found = schemas.of_keyspace(config.keyspace)
    if not found:
        raise no_tables_in(config.keyspace, schemas)
    broken = {name.partition(".")[2] for name in schemas.broken if name.startswith(f"{config.keyspace}.")}
    missing = [name for name in config.tables if name not in found and name not in broken]
    if missing:
        raise ConfigError(
            f"Keyspace {config.keyspace} has no table {', '.join(missing)}.", key="tables",
            fix=f"It has: {', '.join(sorted(found))}.",
        )  # fmt: skip
    for title, why in unreadable(schemas, config).items():
        log.error("Table %s is left aside: %s", title, why)
    return [table for name, table in sorted(found.items()) if name in config.tables or not config.tables]


def unreadable(schemas: Schemas, config: CassandraSourceConfig) -> Mapping[str, str]:
    """Return the wanted tables whose schema cannot be read: `keyspace.table` -> reason."""
    return {
        title: why
        for title, why in schemas.broken.items()
        if title.startswith(f"{config.keyspace}.") and (not config.tables or title.partition(".")[2] in config.tables)
    }
