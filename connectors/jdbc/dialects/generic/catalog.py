"""Reads a database's catalog: its schemas, tables, columns and keys. Subclasses do it for known databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import SET

from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, like
from connectors.jdbc.values.types import ResultColumn

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_SYSTEM_SCHEMAS = {
    "information_schema",
    "pg_catalog",
    "pg_toast",
    "mysql",
    "performance_schema",
    "sys",
    "INFORMATION_SCHEMA",
    "crdb_internal",
    "pg_extension",
    # TimescaleDB keeps the chunks of hypertables here. Their rows come with the hypertables.
    "_timescaledb_internal",
    "_timescaledb_catalog",
    "_timescaledb_config",
    "_timescaledb_cache",
    "_timescaledb_functions",
    "_timescaledb_debug",
    "timescaledb_information",
    "timescaledb_experimental",
}
# JDBC drivers know these kinds of tables. The databases that take this set have none that a user would read.
NEVER_LISTED = frozenset({"SYSTEM TABLE", "SYSTEM VIEW", "GLOBAL TEMPORARY", "ALIAS", "SYNONYM"})


class Catalog:
    """Reads the catalog of a database that is not known, as SQLAlchemy reflects it."""

    further_types: frozenset[str] = frozenset()
    """Values of table.types that this database can list, beside those that every database lists."""
    never_listed: frozenset[str] = frozenset()
    """Values of table.types for which this database is known to have no tables of users."""
    has_schemas: bool = True
    """True if tables are in schemas, by which statements can name them."""
    size: str = ""
    """This statement estimates the number of rows and bytes of a table.

    It is empty if the database has no such statement.
    """

    def schemas(self, inspector: sa.Inspector, own: str | None, config: JdbcSourceConfig) -> Sequence[str | None]:
        """Return the schemas whose tables are listed, as the configuration chooses them. `own` is the connection's."""
        del own
        if config.schema_pattern == "":
            return [inspector.default_schema_name]
        names = [name for name in inspector.get_schema_names() if name not in _SYSTEM_SCHEMAS]
        return names if config.schema_pattern is None else like(config.schema_pattern, names)

    def named(self, inspector: sa.Inspector, schema: str | None, name: str) -> TableName:
        """Return the full name of a table that is listed."""
        return TableName(schema or inspector.default_schema_name, name)

    def further_names(self, inspector: sa.Inspector, schema: str | None, kinds: AbstractSet[str]) -> list[str]:
        """Return the names of a schema's tables whose kind is in both `further_types` and `kinds`."""
        del inspector, schema, kinds
        return []

    def is_one_of(self, database: Database, table: TableName, kinds: AbstractSet[str]) -> bool:
        """Tell if a table that the list lacks exists all the same, and is of a wanted kind."""
        del database, table, kinds
        return False

    def lists_again_after_s(self, database: Database) -> Sequence[float]:
        """Return the seconds to wait before each further listing, as one listing may miss a table that exists."""
        del database
        return ()

    def once_each(self, database: Database, chosen: list[TableName], config: JdbcSourceConfig) -> list[TableName]:
        """Return the chosen tables without those whose rows are read with another chosen table, as a partition's."""
        del database, config
        return chosen

    def columns(self, database: Database, inspector: sa.Inspector, table: TableName) -> Sequence[Any]:
        """Return a table's columns as SQLAlchemy reflects them, with names and types mended where those are wrong."""
        del database
        return inspector.get_columns(table.name, schema=table.schema)

    def plain(self, name: str) -> str:
        """Return the real name of a column that SQLAlchemy reflects by `name`."""
        return name

    def geometries(self, database: Database, table: TableName) -> frozenset[str]:
        """Return the names of a table's geometry columns. SQLAlchemy cannot reflect them; they are read as bytes."""
        del database, table
        return frozenset()

    def completed(
        self, database: Database, table: TableName, shape: TableShape, columns: Sequence[Mapping[str, Any]]
    ) -> TableShape:
        """Return a table's shape with its key and what else the database's catalog tells.

        `columns` are the table's columns as SQLAlchemy reflects them.
        """
        del database, table
        # The database orders these columns by their lists of values, and reading would go on by the order of texts.
        listed = frozenset(str(c["name"]) for c in columns if isinstance(c["type"], (sa.Enum, SET)))
        return shape.keyed_by(() if listed & set(shape.primary) else shape.primary)

    def query_columns(self, database: Database, query: str, doing: str) -> Mapping[str, ResultColumn]:
        """Return the columns of a query by name, as the database describes them without rows, or none if it cannot
        describe them.
        """
        del database, query, doing
        return {}

    def types_of(self, database: Database, table: TableName, doing: str) -> Mapping[str, str]:
        """Return the types of a table's columns as the database names them."""
        with database.errors.translated(doing):
            found = database.inspector().get_columns(table.name, schema=table.schema)
        return {str(column["name"]): str(column["type"]) for column in found}

    def types_of_query(self, database: Database, query: str, doing: str) -> Mapping[str, str]:
        """Return the database's names for the types of a query's columns; empty if it does not tell them."""
        del database, query, doing
        return {}


class SchemalessCatalog(Catalog):
    """Reads the catalog of a database whose tables are in no schemas."""

    has_schemas = False

    def schemas(self, inspector: sa.Inspector, own: str | None, config: JdbcSourceConfig) -> Sequence[str | None]:
        """Return None as the only schema."""
        del inspector, own, config
        return [None]

    def named(self, inspector: sa.Inspector, schema: str | None, name: str) -> TableName:
        """Return the name of a table that is listed; it has no schema."""
        del inspector
        return TableName(schema, name)
