"""Reads the catalog of a SQLite file: tables, which have no schemas, their hidden keys, and the columns of queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import types as t

from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, SchemalessCatalog
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import ResultColumn

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_TEMP_VIEW = "connect_query_columns"
_TYPES = sa.text("SELECT name, type FROM pragma_table_info(:name)")


class SqliteCatalog(SchemalessCatalog):
    """Reads the catalog of SQLite."""

    never_listed = NEVER_LISTED

    def completed(
        self, database: Database, table: TableName, shape: TableShape, columns: Sequence[Mapping[str, Any]]
    ) -> TableShape:
        """Return a table's shape with its key, and with the name of its hidden key (rowid)."""
        primary = shape.primary
        created = sa.text("SELECT type || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name = :name")
        sql = str(database.scalar(created.bindparams(name=table.name), f"reading the definition of {table.full}") or "")
        is_table = sql.startswith("table")
        without_row_id = re.search(r"(?i)\bWITHOUT\s+ROWID\b[^)]*$", sql) is not None
        names = {c.name.lower() for c in shape.columns}
        row_id = next((n for n in ("rowid", "_rowid_", "oid") if n not in names), None)
        has_row_id = is_table and not without_row_id
        types = {str(c["name"]): type(c["type"]).__name__ for c in columns}
        # Only a column declared INTEGER PRIMARY KEY is the rowid itself and never null (sqlite.org/rowidtable.html).
        alias = primary[0] if has_row_id and len(primary) == 1 and types[primary[0]] == "INTEGER" else None
        never_null = set(primary) if without_row_id else {alias} - {None}
        keyed = replace(
            shape,
            not_null=shape.not_null | {name for name in never_null if name is not None},
            row_id=row_id if has_row_id else None,
            auto_increment=alias,
        )
        return keyed.keyed_by(primary)

    def query_columns(self, database: Database, query: str, doing: str) -> Mapping[str, ResultColumn]:
        """Return the declared types of those columns of a query that are columns of tables.

        They are read from a temporary view, which is in this connection's memory.
        """
        connection = database.connection
        text = query.strip().rstrip(";")
        with database.errors.translated(doing, "Mend the query; it must be one SELECT."):
            connection.exec_driver_sql("PRAGMA query_only=OFF")
            try:
                connection.exec_driver_sql(f"CREATE TEMP VIEW {_TEMP_VIEW} AS {text}")
                columns = sa.inspect(connection).get_columns(_TEMP_VIEW, schema="temp")
                connection.exec_driver_sql(f"DROP VIEW temp.{_TEMP_VIEW}")
            finally:
                connection.exec_driver_sql("PRAGMA query_only=ON")
        known = (column for column in columns if not isinstance(column["type"], t.NullType))
        return {str(column["name"]): ResultColumn(column["type"]) for column in known}

    def types_of(self, database: Database, table: TableName, doing: str) -> Mapping[str, str]:
        """Return the declared types of a table's columns."""
        return {str(name): str(kind) for name, kind in database.rows(_TYPES.bindparams(name=table.name), doing)}
