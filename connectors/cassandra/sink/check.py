"""Checks a configuration against the cluster: the connection, the topics' tables, and the right to write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress

from connect.api.errors import ConfigError, ConfigProblem
from connectors.cassandra.cql.errors import MissingRightError, TableGoneError
from connectors.cassandra.cql.keyspaces import no_tables_in
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.sink.config import CassandraSinkConfig


def check(config: CassandraSinkConfig) -> Sequence[str]:
    """Check keyspace, tables and rights, and return notes on topics that have no table yet.

    ConfigError: the keyspace has no tables, or the user may not write some of the topics' tables.
    """
    with closing(Database(config)) as database:
        schemas = read_schemas(database)
        tables = schemas.of_keyspace(config.keyspace)
        if not tables:
            raise no_tables_in(config.keyspace, schemas)
        lacking = [ConfigProblem("username", str(error)) for error in _refused(config, database, tables)]
    if lacking:
        raise ConfigError(lacking)
    return [
        f"Keyspace {config.keyspace} has no table {config.table_of(topic)} for topic {topic}; tasks fail until it has."
        for topic in config.named_topics
        if config.table_of(topic) not in tables
    ]


def missing_rights(config: CassandraSinkConfig) -> Iterator[MissingRightError]:
    """Yield an error for each table of the topics that the user may not write. No row is written."""
    with closing(Database(config)) as database:
        yield from _refused(config, database, read_schemas(database).of_keyspace(config.keyspace))


def _refused(
    config: CassandraSinkConfig, database: Database, tables: Mapping[str, Table]
) -> Iterator[MissingRightError]:
    for name in sorted({config.table_of(topic) for topic in config.named_topics} & set(tables)):
        table = tables[name]
        keys = ", ".join(quoted(column.name) for column in table.primary_key)
        nulls = ", ".join("null" for _ in table.primary_key)
        text = f"INSERT INTO {quoted(table.keyspace)}.{quoted(name)} ({keys}) VALUES ({nulls})"  # noqa: S608 - quoted
        # The server checks rights before values: a user who may write gets an error for the null in the primary key.
        with suppress(TableGoneError):
            try:
                database.rows(text, doing=f"asking for the right to write table {table.title}")
            except MissingRightError as error:
                yield error
