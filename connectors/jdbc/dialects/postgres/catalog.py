"""Reads PostgreSQL's catalog: partitions, domains, and which tables have rows that name their transaction (xmin)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOMAIN

from connectors.jdbc.database.query import probe
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, Catalog
from connectors.jdbc.dialects.postgres import result_types
from connectors.jdbc.dialects.postgres.domains import base_type, modifiers_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, once_each
from connectors.jdbc.values.types import ResultColumn

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_MATERIALIZED: Final = "MATERIALIZED VIEW"
_PARTITIONS = """SELECT n.nspname, c.relname, pn.nspname, p.relname FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class p ON p.oid = i.inhparent JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
WHERE p.relkind = 'p' AND c.relkind IN ('r', 'p', 'f')"""
_TYPES: Final = """
SELECT a.attname, CASE WHEN t.typtype = 'd' THEN format_type(a.atttypid, a.atttypmod) || ' ('
  || format_type(t.typbasetype, t.typtypmod) || ')' ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(:named) AND a.attnum > 0 AND NOT a.attisdropped
"""
_MAKES_NULLS = re.compile(r"(?i)\b(?:left|right|full|rollup|cube|grouping)\b")
"""Without one of these words no row of a query has NULL for a table's column that is NOT NULL."""


# The log can tell changes of partitions by the name of the root since version 13, which has this column.
_BY_ROOT: Final = "SELECT (to_jsonb(p) ->> 'pubviaroot')::bool FROM pg_catalog.pg_publication p WHERE pubname = :name"


class PostgresCatalog(Catalog):
    """Reads the catalog of PostgreSQL."""

    further_types = frozenset({_MATERIALIZED})
    never_listed = NEVER_LISTED
    size = (
        "SELECT reltuples::bigint, pg_catalog.pg_table_size(oid) FROM pg_catalog.pg_class "
        "WHERE oid = to_regclass(:quoted)"
    )

    def further_names(self, inspector: sa.Inspector, schema: str | None, kinds: AbstractSet[str]) -> list[str]:
        """Return the names of a schema's materialized views if `kinds` has them."""
        return inspector.get_materialized_view_names(schema=schema) if _MATERIALIZED in kinds else []

    def once_each(self, database: Database, chosen: list[TableName], config: JdbcSourceConfig) -> list[TableName]:
        """Return the chosen tables, of a partitioned table either the root or the partitions: so no row comes twice."""
        if len(chosen) < 2:
            return chosen
        found = database.rows(sa.text(_PARTITIONS), "listing partitions")
        parents = {TableName(str(row[0]), str(row[1])): TableName(str(row[2]), str(row[3])) for row in found}
        named = "PARTITIONED TABLE" in {kind.upper() for kind in config.table_types}
        by_root = _is_logged_by_root(database, config) if config.mode == "log" else named
        return once_each(chosen, parents, by_root=by_root)

    def columns(self, database: Database, inspector: sa.Inspector, table: TableName) -> Sequence[Any]:
        """Return a table's columns. Those whose type is a domain have the type below the domain."""
        columns = super().columns(database, inspector, table)
        if any(isinstance(column["type"], DOMAIN) for column in columns):
            modifiers = modifiers_of(database, table)
            for column in columns:
                if isinstance(column["type"], DOMAIN):
                    column["type"] = base_type(column["type"], modifiers.get(column["name"], -1))
        return columns

    def completed(
        self, database: Database, table: TableName, shape: TableShape, columns: Sequence[Mapping[str, Any]]
    ) -> TableShape:
        """Return a table's shape with its key, and with True as `has_xmin` if rows name their transaction.

        A table from which others inherit has no key: its primary key does not bind their rows, which are read with its.
        """
        has_xmin, has_heirs = _has_xmin_and_heirs(database, table)
        found = super().completed(database, table, replace(shape, has_xmin=has_xmin), columns)
        return found.keyed_by(()) if has_heirs else found

    def query_columns(self, database: Database, query: str, doing: str) -> Mapping[str, ResultColumn]:
        """Return the columns of a query as the server describes them."""
        found = database.look_at(probe(query), doing, result_types.result_columns)
        return result_types.known_columns(database, found, keeps_not_null=_MAKES_NULLS.search(query) is None)

    def types_of(self, database: Database, table: TableName, doing: str) -> Mapping[str, str]:
        """Return the types of a table's columns as the server names them."""
        asked = sa.text(_TYPES).bindparams(named=table.quoted)
        return {str(name): str(kind) for name, kind in database.rows(asked, doing)}

    def types_of_query(self, database: Database, query: str, doing: str) -> Mapping[str, str]:
        """Return the types of a query's columns as the server names them."""
        columns = database.look_at(probe(query), doing, result_types.result_columns)
        asked = sa.text("SELECT format_type(:oid, :modifier)")
        return {
            column.name: str(database.scalar(asked.bindparams(oid=column.oid, modifier=column.modifier), doing))
            for column in columns
        }


def _has_xmin_and_heirs(database: Database, table: TableName) -> tuple[bool, bool]:
    # The functions on snapshots exist since version 13. Foreign tables and views have no transaction in their rows.
    # Keys of a partitioned table, and of TimescaleDB's, bind the rows of all parts.
    kind = sa.text(
        "WITH RECURSIVE parts AS (SELECT c.oid, c.relkind, NULL::name AS heir FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name "
        "UNION ALL SELECT c.oid, c.relkind, n.nspname FROM parts p "
        "JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace) "
        "SELECT bool_and(relkind IN ('r', 'p')) AND current_setting('server_version_num')::int >= 130000, "
        "bool_or(heir <> '_timescaledb_internal') AND NOT bool_or(relkind = 'p') FROM parts"
    ).bindparams(schema=table.schema or "", name=table.name)
    ((has_xmin, has_heirs),) = database.rows(kind, f"reading the kind of table {table.full}")
    return bool(has_xmin), bool(has_heirs)


def _is_logged_by_root(database: Database, config: JdbcSourceConfig) -> bool:
    """Return True if the log names partitioned tables rather than their partitions: as the publication says, or as the
    connector would make it.
    """
    version = database.scalar(sa.text("SELECT current_setting('server_version_num')"), "asking for the version")
    if int(version) < 130_000:
        return False
    asked = sa.text(_BY_ROOT).bindparams(name=config.publication_name)
    found = database.rows(asked, f"reading publication {config.publication_name}")
    return bool(found[0][0]) if found else True
