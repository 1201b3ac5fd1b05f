"""Reads the catalog of MariaDB or MySQL, with databases as schemas, and with types that SQLAlchemy does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from connectors.jdbc.database.query import probe
from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, Catalog
from connectors.jdbc.dialects.mysql.result_types import result_columns
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, like
from connectors.jdbc.values.types import ResultColumn

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_TYPES: Final = (
    "SELECT column_name, column_type FROM information_schema.columns "
    "WHERE table_schema = coalesce(:schema, database()) AND table_name = :name"
)
_KIND: Final = (
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = :schema AND table_name = :name"
)
_LISTS_AGAIN_AFTER_S: Final = (0.05, 0.15, 0.3)
"""The waits before further lists are these, in seconds. While ALTERs run, one list of six lacks a table.

It was lacking for 24 ms at a time on a busy server, and for 201 ms at most.
"""
_VERSIONED: Final = "SYSTEM VERSIONED"
"""MariaDB's information_schema has this type for tables that keep the history of their rows."""
_KINDS: Final[Mapping[str, str]] = {"BASE TABLE": "TABLE", _VERSIONED: "TABLE", "VIEW": "VIEW"}


class MySqlCatalog(Catalog):
    """Reads the catalog of MariaDB and MySQL."""

    never_listed = NEVER_LISTED
    size = (
        "SELECT table_rows, data_length FROM information_schema.tables "
        "WHERE table_schema = :schema AND table_name = :name"
    )

    def schemas(self, inspector: sa.Inspector, own: str | None, config: JdbcSourceConfig) -> Sequence[str | None]:
        """Return the databases whose tables are listed: those that catalog.pattern names, else the connection's."""
        wanted = config.catalog_pattern
        return [own] if wanted is None else like(wanted, inspector.get_schema_names())

    def is_one_of(self, database: Database, table: TableName, kinds: AbstractSet[str]) -> bool:
        """Return True if a table exists and is of one of the kinds.

        MariaDB's list lacks a table while ALTER TABLE renames its files. A query for this one table waits until that
        has ended.
        """
        asked = sa.text(_KIND).bindparams(schema=table.schema, name=table.name)
        found = database.rows(asked, f"looking for table {table.full}")
        # A server that ignores case in names also finds tables whose names differ in case.
        return any(name == table.name and kinds & {kind, _KINDS.get(kind)} for name, kind in found)

    def lists_again_after_s(self, database: Database) -> Sequence[float]:
        """Return after how many seconds, each, the tables of MariaDB are listed again, as one list may lack a table.

        It is empty for MySQL, whose dictionary lists every table.
        """
        return _LISTS_AGAIN_AFTER_S if database.is_mariadb else ()

    def columns(self, database: Database, inspector: sa.Inspector, table: TableName) -> Sequence[Any]:
        """Return a table's columns with their real names."""
        columns = super().columns(database, inspector, table)
        for column in columns:
            column["name"] = self.plain(column["name"])
        return columns

    def plain(self, name: str) -> str:
        """Return the real name of a column: SQLAlchemy leaves backticks doubled, as SHOW CREATE TABLE writes them."""
        return name.replace("``", "`")

    def geometries(self, database: Database, table: TableName) -> frozenset[str]:
        """Return the names of a table's geometry columns, which SQLAlchemy cannot reflect.

        They are read as bytes (SRID and WKB), as a cast to text would lose bytes.
        """
        names = sa.text(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = coalesce(:schema, database()) "
            "AND table_name = :name AND data_type IN ('geometry', 'point', 'linestring', 'polygon', 'multipoint', "
            "'multilinestring', 'multipolygon', 'geometrycollection', 'geomcollection')"
        ).bindparams(schema=table.schema, name=table.name)
        return frozenset(str(row[0]) for row in database.rows(names, f"reading the types of table {table.full}"))

    def query_columns(self, database: Database, query: str, doing: str) -> Mapping[str, ResultColumn]:
        """Return the columns of a query as the server describes them."""
        return database.look_at(probe(query), doing, result_columns)

    def types_of(self, database: Database, table: TableName, doing: str) -> Mapping[str, str]:
        """Return the types of a table's columns as the server names them."""
        asked = sa.text(_TYPES).bindparams(schema=table.schema, name=table.name)
        return {str(name): str(kind) for name, kind in database.rows(asked, doing)}
