"""Reads the catalog of a DuckDB file, and the columns of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.duckdb.types import type_named
from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, Catalog
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import ResultColumn

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_TYPES: Final = sa.text(
    "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = current_database() "
    "AND schema_name = coalesce(:schema, current_schema()) AND table_name = :name"
)


class DuckDbCatalog(Catalog):
    """Reads the catalog of DuckDB."""

    never_listed = NEVER_LISTED

    def query_columns(self, database: Database, query: str, doing: str) -> Mapping[str, ResultColumn]:
        """Return the columns of a query, which DuckDB describes without running it."""
        return {
            name: ResultColumn(type_named(kind)) for name, kind in self.types_of_query(database, query, doing).items()
        }

    def types_of(self, database: Database, table: TableName, doing: str) -> Mapping[str, str]:
        """Return the types of a table's columns as the database names them."""
        asked = _TYPES.bindparams(schema=table.schema, name=table.name)
        return {str(name): str(kind) for name, kind in database.rows(asked, doing)}

    def types_of_query(self, database: Database, query: str, doing: str) -> Mapping[str, str]:
        """Return the types of a query's columns as the database names them."""
        text = query.strip().rstrip(";").replace(":", "\\:")
        found = database.rows(sa.text(f"DESCRIBE {text}"), doing)
        return {str(row[0]): str(row[1]) for row in found}
