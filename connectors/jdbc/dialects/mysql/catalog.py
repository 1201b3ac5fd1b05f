"""Tells what a server of MariaDB or MySQL has: databases as schemas, and types that SQLAlchemy does not know."""

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
"""One list of six beside continuous ALTERs lacks a table, for 24 ms at a time on a busy server, and at most for 201."""
_KINDS: Final[Mapping[str, str]] = {"BASE TABLE": "TABLE", "VIEW": "VIEW"}


class MySqlCatalog(Catalog):
    """Reads the catalog of MariaDB and MySQL."""

    never_listed = NEVER_LISTED
    size = (
        "SELECT table_rows, data_length FROM information_schema.tables "
        "WHERE table_schema = :schema AND table_name = :name"
    )

    def schemas(self, inspector: sa.Inspector, own: str | None, config: JdbcSourceConfig) -> Sequence[str | None]:
        """Return the databases whose tables are listed."""
        wanted = config.catalog_pattern
        return [own] if wanted is None else like(wanted, inspector.get_schema_names())

    def is_one_of(self, database: Database, table: TableName, kinds: AbstractSet[str]) -> bool:
        """Tell if a table exists. MariaDB's list lacks it for the moment in which ALTER TABLE renames its files, and a
        question for the one table waits for the end of that.
        """
        asked = sa.text(_KIND).bindparams(schema=table.schema, name=table.name)
        found = database.rows(asked, f"looking for table {table.full}")
        # A server that compares names without case finds those of another case, too.
        return any(name == table.name and kinds & {kind, _KINDS.get(kind)} for name, kind in found)

    def lists_again_after_s(self, database: Database) -> Sequence[float]:
        """Return the times after which a list of MariaDB is taken again; MySQL lists by its dictionary."""
        return _LISTS_AGAIN_AFTER_S if database.is_mariadb else ()

    def columns(self, database: Database, inspector: sa.Inspector, table: TableName) -> Sequence[Any]:
        """Return a table's columns with their names as they are."""
        columns = super().columns(database, inspector, table)
        for column in columns:
            column["name"] = self.plain(column["name"])
        return columns

    def plain(self, name: str) -> str:
        """Return a reflected name as it is: SQLAlchemy leaves names as SHOW CREATE TABLE writes them."""
        return name.replace("``", "`")

    def geometries(self, database: Database, table: TableName) -> frozenset[str]:
        """Return the columns that SQLAlchemy cannot reflect: cast to text they would lose bytes.

        They come as SRID and WKB.
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
