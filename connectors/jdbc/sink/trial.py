"""Makes separate tables for a trial, with the columns and keys of the tables that the sink would write to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.jdbc.dialects.generic.writing import Writing
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.statements import quoted
from connectors.jdbc.sink.target_tables import NAME_PARTS, table_name


class TrialTables:
    """Keeps the tables of one trial, whose names begin with the trial's name."""

    def __init__(self, config: JdbcSinkConfig, name: str) -> None:
        """Connect to nothing."""
        self._config = config
        self._prefix = re.sub(r"\W", "_", name) + "_"

    @property
    def settings(self) -> Mapping[str, str]:
        """Return settings that name the trial's tables, also for offsets."""
        pairs = (pair.partition(":")[::2] for pair in self._config.topic_tables)
        return {
            "table.name.format": self._renamed(self._config.table_name_format),
            "topics.to.tables.mapping": ",".join(f"{topic}:{self._renamed(table)}" for topic, table in pairs),
            "exactly.once.table": f"{self._prefix}offsets",
        }

    @property
    def is_once(self) -> bool:
        """Return True if rows have keys, or offsets are noted."""
        return self._config.is_keyed or self._config.exactly_once

    @property
    def merges(self) -> bool:
        """Return True if records with the same key become one row."""
        return self._config.is_keyed

    def make(self, deadline: Deadline) -> None:
        """Make a copy of each table that exists, without rows. ConfigError: a right is missing; SQLite copies no
        tables.
        """
        check(self._config, deadline)
        trial = self._config.changed(self.settings)
        database = TargetDatabase(self._config)
        try:
            for topic in self._config.named_topics:
                real = table_name(self._config, topic, database.writing)
                with database.catalog("looking for tables") as inspector:
                    is_there = inspector.has_table(real.name, real.schema)
                if is_there:
                    made = table_name(trial, topic, database.writing)
                    database.change([_copy(database.writing, real, made)], f"making table {made.full}")
        finally:
            database.close()

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield every row of these tables as bytes, except the rows of the offsets table."""
        del deadline
        database = TargetDatabase(self._config)
        try:
            for table in self._tables(database):
                if table.name != f"{self._prefix}offsets":
                    with database.transaction(f"reading table {table.full}") as connection:
                        for row in connection.execute(sa.select(sa.text("*")).select_from(_relation(table))):
                            # Columns have the same order in each trial and in the real table.
                            yield repr((table.name[len(self._prefix) :], tuple(row))).encode()
        finally:
            database.close()

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the types of columns as reflection tells them."""
        del deadline
        found: dict[str, str] = {}
        database = TargetDatabase(self._config)
        try:
            for table in self._tables(database):
                with database.catalog(f"reading the columns of {table.full}") as inspector:
                    columns = inspector.get_columns(table.name, table.schema)
                name = table.name[len(self._prefix) :]
                found |= {f"{name}.{column['name']}": str(column["type"]).lower() for column in columns}
        finally:
            database.close()
        return {path: kind for path, kind in found.items() if not path.startswith("offsets.")}

    def remove(self, deadline: Deadline) -> None:
        """Drop the trial's tables."""
        del deadline
        database = TargetDatabase(self._config)
        try:
            for table in self._tables(database):
                dropped = sa.Table(table.name, sa.MetaData(), schema=table.schema)
                with database.transaction(f"dropping table {table.full}") as connection:
                    dropped.drop(connection, checkfirst=True)
        finally:
            database.close()

    def _renamed(self, text: str) -> str:
        """Return a table's name or format with the prefix before its last part, where no limit of length cuts it."""
        parts = ["".join(filter(None, found)) for found in NAME_PARTS.findall(text)]
        return ".".join(f'"{part}"' for part in [*parts[:-1], f"{self._prefix}{parts[-1]}"])

    def _tables(self, database: TargetDatabase) -> list[TableName]:
        """Return the trial's tables that exist, in the schemas that the settings name."""
        trial = self._config.changed(self.settings)
        schemas = {table_name(trial, topic, database.writing).schema for topic in self._config.named_topics} | {None}
        prefix = self._prefix if trial.keeps_case else self._prefix.lower()
        with database.catalog("looking for tables") as inspector:
            return [
                TableName(schema, name)
                for schema in sorted(schemas, key=str)
                for name in inspector.get_table_names(schema)
                if name.startswith((prefix, self._prefix))
            ]


def _copy(writing: Writing, real: TableName, made: TableName) -> str:
    if not writing.copy:
        raise ConfigError(
            f"Table {real.full} is there, and no other table can be made like it here.", key="connection.url",
            fix="Name a file without the table, with auto.create=true.",
        )  # fmt: skip
    made_name, real_name = (quoted(writing.mark, *name) for name in (made, real))
    return writing.copy.format(made=made_name, real=real_name)


def _relation(table: TableName) -> sa.TableClause:
    return sa.table(sa.quoted_name(table.name, True), schema=table.schema)
