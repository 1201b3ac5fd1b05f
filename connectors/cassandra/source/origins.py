"""Tells the types that Cassandra's schema gives the tables' columns, and how much of their values the rows keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from connect.api.optional.origins import Kept, OriginColumn
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.table_choice import chosen_tables

_COLUMNS: Final = "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = %s AND table_name = %s"
_SAYS_LESS: Final = frozenset({"decimal", "varint", "uuid", "timeuuid", "inet", "set", "vector", "custom"})
"""Values of these types become text, an array of any length, or bytes, so their Connect type does not name theirs."""


def origin_columns(config: CassandraSourceConfig, deadline: Deadline) -> Iterator[OriginColumn]:
    """Yield the columns of all tables that the configuration reads. ConnectError: the schema cannot be read."""
    with closing(Database(config)) as database:
        for table in chosen_tables(read_schemas(database), config):
            if deadline.expired:
                return
            texts = dict(database.rows(_COLUMNS, (table.keyspace, table.name), doing="reading system_schema"))
            for column in config.columns_of(table):
                kept = Kept.UNTYPED if says_less(column.type) else Kept.TYPED
                lost = "its values are bytes as they are stored" if column.type.name == "custom" else ""
                field = _field(table, column, config)
                yield OriginColumn(config.topic_of(table), field, texts[column.name], kept, lost)


def says_less(kind: CqlType) -> bool:
    """Return True if the Connect type of a value, or of a value in it, does not tell which CQL type it had. Pure."""
    return kind.name in _SAYS_LESS or any(map(says_less, kind.parameters))


def _field(table: Table, column: TableColumn, config: CassandraSourceConfig) -> str:
    if config.output == "rows":
        return column.name
    return f"key.{column.name}" if column in table.primary_key else f"columns.{column.name}"
