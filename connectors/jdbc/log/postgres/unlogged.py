"""Finds the tables of PostgreSQL whose changes are not in its log, with the reasons. Asks the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.postgres.publication import told_by_other_names
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

_TABLES = sa.text(
    "SELECT n.nspname, c.relname, c.relpersistence = 'p' FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') "
    "AND (c.relpersistence <> 'p' "
    "OR NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 "
    "AND NOT a.attisdropped)) ORDER BY 1, 2"
)


def without_log(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Mapping[TableName, str]:
    """Return the tables that cannot be followed by the log, each with the reason and the fix."""
    renamed = told_by_other_names(database, config, tables)
    rows = database.rows(_TABLES, "looking for tables without a log")
    database.end_transaction()
    found = {TableName(str(row[0]), str(row[1])): bool(row[2]) for row in rows}
    unlogged = {table: _reason(table, is_logged=found[table]) for table in tables if table in found}
    return {**renamed, **unlogged}


def _reason(table: TableName, *, is_logged: bool) -> str:
    if is_logged:
        return "It has no columns. Add one, or leave it out of the table filter."
    return f"It is UNLOGGED or TEMPORARY. ALTER TABLE {table.quoted} SET LOGGED, or read it with another mode."
