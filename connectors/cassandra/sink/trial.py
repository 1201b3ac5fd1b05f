"""Makes a keyspace for a trial beside the one that the sink writes to, with tables of the same columns and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from graphlib import TopologicalSorter
from typing import Any, Final

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.sink.check import check
from connectors.cassandra.sink.config import CassandraSinkConfig

_REPLICATION: Final = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = %s"
_TYPES: Final = "SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = %s"
_COLUMNS: Final = "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = %s AND table_name = %s"
_SNAPSHOT_OPTION: Final = (
    "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND table_name = 'tables' "
    "AND column_name = 'allow_auto_snapshot'"
)


class TrialKeyspace:
    """Manages a keyspace that is named after the trial.

    The user needs the right to create keyspaces. The user who makes a keyspace has all rights on it.
    """

    is_once = True
    """A table holds one row for each key, however often it is written."""
    merges = True

    def __init__(self, config: CassandraSinkConfig, name: str) -> None:
        """Remember the settings and the trial's name, without connecting."""
        self._config = config
        self._keyspace = re.sub(r"\W", "_", name)

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the setting that names this keyspace."""
        return {"keyspace": self._keyspace}

    def make(self, deadline: Deadline) -> None:
        """Make the keyspace, its types and its tables.

        ConfigError: a real table is missing or may not be written. MissingRightError: the user may not create
        keyspaces.
        """
        del deadline  # each statement has its own
        check(self._config)
        with closing(Database(self._config)) as database:
            for statement in self._statements(database):
                database.rows(statement, doing=f"making keyspace {self._keyspace} for a trial")

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield every row as JSON that the server makes, as Python's types cannot hold every value."""
        del deadline
        with closing(Database(self._config)) as database:
            for table in read_schemas(database).of_keyspace(self._keyspace).values():
                text = f"SELECT JSON * FROM {quoted(self._keyspace)}.{quoted(table.name)}"  # noqa: S608 - quoted
                for (row,) in database.rows(text, doing=f"reading table {table.title}"):
                    yield f"{table.name} {row}".encode()

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the type of each `table.column` as system_schema names it."""
        del deadline
        doing = "reading system_schema"
        with closing(Database(self._config)) as database:
            return {
                f"{table}.{column}": kind
                for table in read_schemas(database).of_keyspace(self._keyspace)
                for column, kind in database.rows(_COLUMNS, (self._keyspace, table), doing=doing)
            }

    def remove(self, deadline: Deadline) -> None:
        """Drop the keyspace."""
        del deadline
        with closing(Database(self._config)) as database:
            database.rows(f"DROP KEYSPACE IF EXISTS {quoted(self._keyspace)}", doing="dropping a trial's keyspace")

    def _statements(self, database: Database) -> Iterator[str]:
        real, doing = self._config.keyspace, "reading system_schema"
        tables = self._tables(database)
        ((replication,),) = database.rows(_REPLICATION, (real,), doing=doing)
        yield f"CREATE KEYSPACE {quoted(self._keyspace)} WITH replication = {_map(replication)}"
        yield from type_creations(self._keyspace, database.rows(_TYPES, (real,), doing=doing))
        # Dropping a table would leave a snapshot on the nodes' disks; only Cassandra 5.0 and later can switch that off.
        options = " WITH allow_auto_snapshot = false" if database.rows(_SNAPSHOT_OPTION, doing=doing) else ""
        for table in tables:
            types = dict(database.rows(_COLUMNS, (real, table.name), doing=doing))
            yield table_creation(self._keyspace, table, types) + options

    def _tables(self, database: Database) -> Sequence[Table]:
        """Return the tables that rows may go to: the topics' own, or the whole keyspace's if there are transforms.

        Transforms may give records another topic.
        """
        tables = read_schemas(database).of_keyspace(self._config.keyspace)
        topics = self._config.named_topics
        if not topics or self._config.originals.get("transforms", "").strip():
            return list(tables.values())
        names = {self._config.table_of(topic) for topic in topics}
        missing = sorted(names - set(tables))
        if missing:
            raise ConfigError(
                f"Keyspace {self._config.keyspace} has no table {', '.join(missing)} for the rows of the topics.",
                key="topic.tables", fix=f"It has: {', '.join(sorted(tables)) or 'none'}.",
            )  # fmt: skip
        return [tables[name] for name in names]


def type_creations(keyspace: str, types: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> Iterator[str]:
    """Yield statements that create user-defined types; a type comes before those that hold it. Pure.

    Each of `types` is a type's name, the names of its fields and the CQL types of its fields.
    """
    fields = {name: dict(zip(names, texts, strict=True)) for name, names, texts in types}
    held = {
        name: [other for other in fields if re.search(rf"(?<!\w){re.escape(other)}(?!\w)", " ".join(texts.values()))]
        for name, texts in fields.items()
    }
    for name in TopologicalSorter(held).static_order():
        members = ", ".join(f"{quoted(field)} {text}" for field, text in fields[name].items())
        yield f"CREATE TYPE {quoted(keyspace)}.{quoted(name)} ({members})"


def table_creation(keyspace: str, real: Table, types: Mapping[str, str]) -> str:
    """Return the statement that creates a table like `real`. `types` has the CQL type of each column. Pure."""
    columns = [
        f"{quoted(column.name)} {types[column.name]}{' STATIC' if column in real.static else ''}"
        for column in real.columns
    ]
    partition = ", ".join(quoted(column.name) for column in real.partition_key)
    keys = ", ".join([f"({partition})", *(quoted(column.name) for column in real.clustering)])
    return f"CREATE TABLE {quoted(keyspace)}.{quoted(real.name)} ({', '.join(columns)}, PRIMARY KEY ({keys}))"


def _map(options: Mapping[str, Any]) -> str:
    """Return a map of texts as CQL writes it."""
    return "{" + ", ".join(f"'{name}': '{value}'" for name, value in options.items()) + "}"
