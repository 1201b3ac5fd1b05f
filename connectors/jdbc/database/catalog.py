"""Reads the catalog: the database's tables, and one table's columns, key and indexes. It decides nothing."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import sqlalchemy as sa

from connect.api.errors import ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName, select_tables
from connectors.jdbc.values.types import TypeRules, plan_column

_TABLES = {"TABLE", "BASE TABLE", "PARTITIONED TABLE", "FOREIGN TABLE"}
_LISTED_TYPES = _TABLES | {"VIEW", "LOCAL TEMPORARY"}


def unlisted_types(database: Database, config: JdbcSourceConfig) -> list[str]:
    """Return the values of table.types for which no table can be listed, although the database may have such tables."""
    catalog = database.dialect.catalog
    known = _LISTED_TYPES | catalog.further_types
    if known & {kind.upper() for kind in config.table_types}:
        known |= catalog.never_listed
    return [kind for kind in config.table_types if kind.upper() not in known]


def list_tables(database: Database, config: JdbcSourceConfig, known: Sequence[TableName] = ()) -> list[TableName]:
    """Return every table of the wanted types in the wanted schemas, unfiltered.

    `known` are tables that were there before. If the database's list may lack a table that exists, these and the ones
    that the filter names are asked for one by one. If there are none of these, the database lists again, and a table
    that is in only one of the lists is asked for.
    """
    catalog = database.dialect.catalog
    kinds = {kind.upper() for kind in config.table_types}
    with database.errors.translated("listing tables", "Grant the user the right to read the catalog."):
        schemas = catalog.schemas(database.inspector(), database.schema_of_connection, config)
        found = _listed(database, schemas, kinds)
        chosen = TableFilter.of(config)
        asked = [*known, *chosen.named_in(schemas)]
        if not known and not chosen.whitelist:
            for wait_s in catalog.lists_again_after_s(database):
                threading.Event().wait(wait_s)
                asked, found = asked + found, _listed(database, schemas, kinds)
        present = frozenset(found)
        missing = dict.fromkeys(table for table in asked if table not in present)
        found += [table for table in missing if catalog.is_one_of(database, table, kinds)]
    return found


def _listed(database: Database, schemas: Sequence[str | None], kinds: AbstractSet[str]) -> list[TableName]:
    inspector, catalog = database.inspector(), database.dialect.catalog
    found: list[TableName] = []
    for schema in schemas:
        names: list[str] = []
        if kinds & _TABLES:
            names += inspector.get_table_names(schema=schema)
        if "VIEW" in kinds:
            names += inspector.get_view_names(schema=schema)
        names += catalog.further_names(inspector, schema, kinds)
        found += [catalog.named(inspector, schema, name) for name in names]
    if "LOCAL TEMPORARY" in kinds:
        found += [TableName(None, name) for name in inspector.get_temp_table_names()]
    return found


def choose_tables(database: Database, config: JdbcSourceConfig, present: Sequence[TableName]) -> list[TableName]:
    """Return the tables to read of those that are there, sorted; no row of a partitioned table comes twice."""
    chosen = select_tables(present, TableFilter.of(config))
    return database.dialect.catalog.once_each(database, chosen, config)


class NoTableError(ConnectError):
    """Says that a table does not exist."""


def describe(database: Database, table: TableName, config: JdbcSourceConfig) -> TableShape:
    """Return the shape of a table. NoTableError: the table does not exist."""
    rules = type_rules(database, config)
    inspector, catalog = database.inspector(), database.dialect.catalog
    # Columns of types that SQLAlchemy does not know are read as bytes or as the database's text, and indexes that it
    # cannot reflect do not order rows here. So its warnings are ignored.
    warnings.filterwarnings("ignore", "Did not recognize type|Skipped unsupported reflection", sa.exc.SAWarning)
    fix = "Create it, or take it out of the table filter."
    with database.errors.translated(f"reading the columns of table {table.full}", fix):
        try:
            columns, plain = catalog.columns(database, inspector, table), catalog.plain
            constraint = inspector.get_pk_constraint(table.name, schema=table.schema)
            primary = tuple(plain(name) for name in constraint["constrained_columns"] or ())
            indexes = inspector.get_indexes(table.name, schema=table.schema)
        except sa.exc.NoSuchTableError:
            raise NoTableError(f"Table {table.full} does not exist.", fix=fix) from None
    has_unknown = any(isinstance(c["type"], sa.types.NullType) for c in columns)
    shapes = catalog.geometries(database, table) if has_unknown else ()
    plans = tuple(
        plan_column(c["name"], sa.LargeBinary() if c["name"] in shapes else c["type"], bool(c["nullable"]), rules)
        for c in columns
    )
    ordered = [
        tuple(plain(str(c)) for c in index["column_names"]) for index in indexes if None not in index["column_names"]
    ]
    not_null = frozenset(str(c["name"]) for c in columns if not c["nullable"])
    shape = TableShape(
        plans,
        not_null,
        primary=primary,
        auto_increment=_auto_increment(columns),
        indexes=tuple(i for i in (primary, *ordered) if i),
        unique=tuple(plain(name) for name in _unique(indexes, not_null)),
    )
    return catalog.completed(database, table, shape, columns)


def type_rules(database: Database, config: JdbcSourceConfig) -> TypeRules:
    """Return the rules for column types that follow from this database and configuration."""
    return TypeRules(
        database.dialect.types,
        config.numeric,
        config.timestamp_granularity,
        config.zero_date_handling,
        config.unsigned_bigint,
        config.time_precision,
    )


def _auto_increment(columns: Sequence[Mapping[str, Any]]) -> str | None:
    def counts(column: Mapping[str, Any]) -> bool:
        default = str(column.get("default") or "")
        return column.get("autoincrement") is True or bool(column.get("identity")) or default.startswith("nextval(")

    return next((str(c["name"]) for c in columns if counts(c)), None)


def _unique(indexes: Sequence[Mapping[str, Any]], not_null: frozenset[str]) -> tuple[str, ...]:
    # A unique index on the first characters of a text does not identify rows by the whole text.
    whole = (i for i in indexes if i.get("unique") and not i.get("dialect_options", {}).get("mysql_length"))
    found = sorted((str(index["name"]), tuple(index["column_names"])) for index in whole)
    return next((columns for _, columns in found if set(columns) <= not_null), ())
