"""What the database has: its tables, and one table's columns, key and indexes. Reads the catalog, decides nothing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import SET
from sqlalchemy.dialects.postgresql import DOMAIN

from connect.api.errors import ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.postgres.domains import base_type, modifiers_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName, like, once_each, select_tables
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw, TypeRules, plan_column

_SYSTEM_SCHEMAS = {
    "information_schema",
    "pg_catalog",
    "pg_toast",
    "mysql",
    "performance_schema",
    "sys",
    "INFORMATION_SCHEMA",
}
_LISTED_TYPES = {"TABLE", "BASE TABLE", "PARTITIONED TABLE", "FOREIGN TABLE", "VIEW", "LOCAL TEMPORARY"}
# What JDBC drivers list under these names, these databases do not have, or have for themselves alone.
_NEVER_LISTED = {"SYSTEM TABLE", "SYSTEM VIEW", "GLOBAL TEMPORARY", "ALIAS", "SYNONYM"}
_WITHOUT_THEM = {"postgresql", "mysql", "mariadb", "sqlite"}
_PARTITIONS = """SELECT n.nspname, c.relname, pn.nspname, p.relname FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class p ON p.oid = i.inhparent JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
WHERE p.relkind = 'p' AND c.relkind IN ('r', 'p', 'f')"""


@dataclass(frozen=True, slots=True)
class TableShape:
    """One table as reading needs it.

    `key`: columns that name one row, never null; empty when there are none. `row_id`: SQLite's hidden key, by the name
    that no column hides. `indexes`: the columns of each index in order, the primary key's first. `has_xmin`: a table of
    PostgreSQL, whose rows name the transaction that wrote them. `primary`: the primary key, of columns of any kind;
    `unique`: the first index by name that can stand for it.
    """

    columns: tuple[ColumnPlan, ...]
    not_null: frozenset[str]
    key: tuple[str, ...] = ()
    row_id: str | None = None
    auto_increment: str | None = None
    indexes: tuple[tuple[str, ...], ...] = ()
    has_xmin: bool = False
    primary: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()

    def find(self, name: str) -> ColumnPlan | None:
        """A column by its name, exact or else without case."""
        exact = (c for c in self.columns if c.name == name)
        return next(exact, None) or next((c for c in self.columns if c.name.lower() == name.lower()), None)


def unlisted_types(database: Database, config: JdbcSourceConfig) -> list[str]:
    """Values of table.types that nothing can be listed for, although the database may have such tables."""
    known = _LISTED_TYPES | ({"MATERIALIZED VIEW"} if database.dialect_name == "postgresql" else set())
    wanted = {kind.upper() for kind in config.table_types}
    if wanted & known and database.dialect_name in _WITHOUT_THEM:
        known |= _NEVER_LISTED
    return [kind for kind in config.table_types if kind.upper() not in known]


def list_tables(database: Database, config: JdbcSourceConfig) -> list[TableName]:
    """Every table of the wanted types in the wanted schemas, unfiltered."""
    inspector = database.inspector()
    kinds = {kind.upper() for kind in config.table_types}
    found: list[TableName] = []
    with database.border.translated("listing tables", "Grant the user the right to read the catalog."):
        for schema in _schemas(inspector, database, config):
            shown = schema or (inspector.default_schema_name if database.dialect_name != "sqlite" else None)
            names: list[str] = []
            if kinds & {"TABLE", "BASE TABLE", "PARTITIONED TABLE", "FOREIGN TABLE"}:
                names += inspector.get_table_names(schema=schema)
            if "VIEW" in kinds:
                names += inspector.get_view_names(schema=schema)
            if "MATERIALIZED VIEW" in kinds and database.dialect_name == "postgresql":
                names += inspector.get_materialized_view_names(schema=schema)
            found += [TableName(shown, name) for name in names]
        if "LOCAL TEMPORARY" in kinds:
            found += [TableName(None, name) for name in inspector.get_temp_table_names()]
    return found


def choose_tables(database: Database, config: JdbcSourceConfig, present: Sequence[TableName]) -> list[TableName]:
    """The tables to read of those that are there, sorted; no row of a partitioned table comes twice."""
    chosen = select_tables(present, TableFilter.of(config))
    if database.dialect_name != "postgresql" or len(chosen) < 2:
        return chosen
    found = database.rows(sa.text(_PARTITIONS), "listing partitions")
    parents = {TableName(str(row[0]), str(row[1])): TableName(str(row[2]), str(row[3])) for row in found}
    # The log tells changes by the root, which servers before version 13 cannot publish.
    version = int(database.scalar(sa.text("SELECT current_setting('server_version_num')"), "asking for the version"))
    named = "PARTITIONED TABLE" in {kind.upper() for kind in config.table_types}
    by_root = version >= 130_000 if config.mode == "log" else named
    return once_each(chosen, parents, by_root=by_root)


class NoTableError(ConnectError):
    """The table does not exist."""


def describe(database: Database, table: TableName, config: JdbcSourceConfig) -> TableShape:
    """The shape of a table. NoTableError when it does not exist."""
    rules = type_rules(database, config)
    inspector = database.inspector()
    # Such columns are read as bytes or as the database's own text, and such an index orders nothing that is read.
    warnings.filterwarnings("ignore", "Did not recognize type|Skipped unsupported reflection", sa.exc.SAWarning)
    fix = "Create it, or take it out of the table filter."
    with database.border.translated(f"reading the columns of table {table.full}", fix):
        try:
            plain = _without_escapes if database.dialect_name in {"mysql", "mariadb"} else str
            columns = inspector.get_columns(table.name, schema=table.schema)
            for column in columns:
                column["name"] = plain(column["name"])
            if any(isinstance(column["type"], DOMAIN) for column in columns):
                modifiers = modifiers_of(database, table)
                for column in columns:
                    if isinstance(column["type"], DOMAIN):
                        column["type"] = base_type(column["type"], modifiers.get(column["name"], -1))
            constraint = inspector.get_pk_constraint(table.name, schema=table.schema)
            primary = tuple(plain(name) for name in constraint["constrained_columns"] or ())
            indexes = inspector.get_indexes(table.name, schema=table.schema)
        except sa.exc.NoSuchTableError:
            raise NoTableError(f"Table {table.full} does not exist.", fix=fix) from None
    shapes = _geometries(database, table) if any(isinstance(c["type"], sa.types.NullType) for c in columns) else ()
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
    if database.dialect_name == "sqlite":
        return _sqlite_shape(database, table, shape, primary, columns)
    if database.dialect_name == "postgresql":
        shape = replace(shape, has_xmin=_has_xmin(database, table))
    # Their order is another one than that of the texts they are compared with.
    listed = frozenset(str(c["name"]) for c in columns if isinstance(c["type"], (sa.Enum, SET)))
    return _with_key(shape, () if listed & set(primary) else primary)


def _without_escapes(name: str) -> str:
    # SQLAlchemy leaves names as SHOW CREATE TABLE writes them.
    return name.replace("``", "`")


def type_rules(database: Database, config: JdbcSourceConfig) -> TypeRules:
    """What this database and configuration say about types."""
    return TypeRules(
        database.dialect.types,
        config.numeric,
        config.timestamp_granularity,
        config.zero_date_handling,
        config.unsigned_bigint,
        config.time_precision,
    )


def _geometries(database: Database, table: TableName) -> frozenset[str]:
    # Reflection has no name for them; cast to text they would lose bytes. They come as SRID and WKB.
    if database.dialect_name not in {"mysql", "mariadb"}:
        return frozenset()
    names = sa.text(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = coalesce(:schema, database()) "
        "AND table_name = :name AND data_type IN ('geometry', 'point', 'linestring', 'polygon', 'multipoint', "
        "'multilinestring', 'multipolygon', 'geometrycollection', 'geomcollection')"
    ).bindparams(schema=table.schema, name=table.name)
    return frozenset(str(row[0]) for row in database.rows(names, f"reading the types of table {table.full}"))


def _has_xmin(database: Database, table: TableName) -> bool:
    # Functions on snapshots are of version 13; only tables with storage of this server keep the transaction.
    kind = sa.text(
        "SELECT current_setting('server_version_num')::int >= 130000 AND c.relkind IN ('r', 'p') AND NOT EXISTS ("
        "SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid "
        "WHERE i.inhparent = c.oid AND p.relkind = 'f') FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name"
    ).bindparams(schema=table.schema or "", name=table.name)
    return bool(database.scalar(kind, f"reading the kind of table {table.full}"))


def _schemas(inspector: sa.Inspector, database: Database, config: JdbcSourceConfig) -> Sequence[str | None]:
    if database.dialect_name == "sqlite":
        return [None]
    if database.dialect_name in {"mysql", "mariadb"}:
        wanted = config.catalog_pattern
        return [database.schema_of_connection] if wanted is None else like(wanted, inspector.get_schema_names())
    if config.schema_pattern == "":
        return [inspector.default_schema_name]
    names = [n for n in inspector.get_schema_names() if n not in _SYSTEM_SCHEMAS]
    return names if config.schema_pattern is None else like(config.schema_pattern, names)


def _auto_increment(columns: Sequence[Mapping[str, Any]]) -> str | None:
    def counts(column: Mapping[str, Any]) -> bool:
        default = str(column.get("default") or "")
        return column.get("autoincrement") is True or bool(column.get("identity")) or default.startswith("nextval(")

    return next((str(c["name"]) for c in columns if counts(c)), None)


def _unique(indexes: Sequence[Mapping[str, Any]], not_null: frozenset[str]) -> tuple[str, ...]:
    # An index of the first characters of a text names no row.
    whole = (i for i in indexes if i.get("unique") and not i.get("dialect_options", {}).get("mysql_length"))
    found = sorted((str(index["name"]), tuple(index["column_names"])) for index in whole)
    return next((columns for _, columns in found if set(columns) <= not_null), ())


def _with_key(shape: TableShape, primary: tuple[str, ...]) -> TableShape:
    usable = {c.name for c in shape.columns if c.raw in {Raw.INTEGER, Raw.TEXT} and c.projection is Projection.AS_IS}
    key = primary if primary and set(primary) <= usable & shape.not_null else ()
    return replace(shape, key=key)


def _sqlite_shape(
    database: Database,
    table: TableName,
    shape: TableShape,
    primary: tuple[str, ...],
    columns: Sequence[Mapping[str, Any]],
) -> TableShape:
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
    return _with_key(keyed, primary)
