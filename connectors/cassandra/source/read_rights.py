"""Finds the tables that the user may not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from connect.api.errors import ConfigError, ConfigProblem, RetriableError
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.errors import MissingRightError, TableGoneError
from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table


def missing_read_rights(database: Queries, tables: Sequence[Table], deadline: Deadline) -> Iterator[MissingRightError]:
    """Yield an error for each table that the user may not read. It stops at the deadline.

    No row is read.
    """
    for table in tables:
        if deadline.expired:
            return
        keys = ", ".join(quoted(column.name) for column in table.partition_key)
        name = f"{quoted(table.keyspace)}.{quoted(table.name)}"
        query = f"SELECT {keys} FROM {name} WHERE token({keys}) = 0 LIMIT 1"  # noqa: S608 - quoted
        # The server checks rights before it asks replicas, so a replica that is down does not matter here.
        with suppress(RetriableError, TableGoneError):
            try:
                database.rows(query, doing=f"asking for the right to read table {table.title}")
            except MissingRightError as error:
                yield error


def require_some_right(tables: Sequence[Table], refused: Sequence[MissingRightError]) -> list[str]:
    """Return a note on each table that the user may not read. ConfigError: the user may read none of the tables."""
    if refused and len(refused) == len(tables):
        raise ConfigError([ConfigProblem("username", str(error)) for error in refused])
    return [f"{error} The other tables are read." for error in refused]
