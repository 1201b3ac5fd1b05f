"""Tells the types of columns as the database's catalog names them, and how much of their values the rows keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api import schema as s
from connect.api.optional.origins import Kept, OriginColumn
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import choose_tables, describe, list_tables
from connectors.jdbc.database.query_shape import describe_query
from connectors.jdbc.follow.blind_spots import loses_microseconds
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, topic_of
from connectors.jdbc.values.types import UNSIGNED_FIX, ColumnPlan, Raw

_LOG_FIELD: Final = "after."
"""The prefix of a column's name in the log's events, where the field `after` has the row."""
_TEXTS: Final = frozenset({
    "text", "character varying", "character", "varchar", "char", "bpchar", "citext", "name", "tinytext", "mediumtext",
    "longtext", "clob", "nvarchar", "nchar", "nclob", "varchar2", "nvarchar2", "ntext", "long", "",
})  # fmt: skip
_DOCUMENTS: Final = frozenset({"json", "jsonb", "xml", "hstore", "ltree", "tsvector", "tsquery"})


def origin_columns(config: JdbcSourceConfig, deadline: Deadline) -> Iterator[OriginColumn]:
    """Yield the columns of all tables, or of the query, that the configuration reads.

    ConnectError: the columns cannot be read.
    """
    database = Database(config)
    try:
        if config.query_text:
            shape = describe_query(database, config)
            types = database.dialect.catalog.types_of_query(
                database, config.query_text, "reading the types of the query"
            )
            yield from _of(config.topic_prefix, shape.columns, types, config)
            return
        for table in choose_tables(database, config, list_tables(database, config)):
            if deadline.expired:
                return
            shape = describe(database, table, config)
            yield from _of(topic_of(table, config), shape.columns, _types_of(database, table), config)
            database.end_transaction()
    finally:
        database.close()


def _of(
    topic: str, columns: Sequence[ColumnPlan], types: Mapping[str, str], config: JdbcSourceConfig
) -> Iterator[OriginColumn]:
    for column in columns:
        kind = types.get(column.name, "")
        kept, lost = kept_of(column, kind, config)
        field = f"{_LOG_FIELD}{column.name}" if config.mode == "log" else column.name
        yield OriginColumn(topic, field, kind or "not told by the database", kept, lost)


def kept_of(column: ColumnPlan, kind: str, config: JdbcSourceConfig) -> tuple[Kept, str]:
    """Return how much of a column's values the rows keep, and what is lost. `kind` is its type in the database.
    Pure.
    """
    schema = column.schema.as_optional(False)
    if loses_microseconds(column):
        if config.microsecond_handling == "truncate":
            return Kept.IN_PART, "digits of a second behind the third are cut off"
        return Kept.IN_PART, "rows with digits of a second behind the third are refused"
    if column.raw is Raw.DECIMAL and schema.type is s.Type.FLOAT64:
        return Kept.IN_PART, "a double rounds what has more than 15 digits"
    if column.fix == UNSIGNED_FIX and schema.type is s.Type.INT64:
        return Kept.IN_PART, "rows with values above 9223372036854775807 are refused"
    if schema.type is not s.Type.STRING or schema.name is not None or _is_text(kind):
        return Kept.TYPED, ""
    return Kept.UNTYPED, _lost_structure(kind)


def _is_text(kind: str) -> bool:
    return _bare(kind) in _TEXTS


def _lost_structure(kind: str) -> str:
    if kind.rstrip(")").endswith("[]"):
        return "its elements are one text, such as {a,b}"
    bare = _bare(kind)
    if bare in _DOCUMENTS:
        return f"its {'members' if bare in {'json', 'jsonb', 'hstore'} else 'parts'} are one text"
    return "its bounds are one text" if bare.endswith("range") else ""


def _bare(kind: str) -> str:
    """Return the type without its digits, its character set and, for a domain, the domain's name."""
    base = kind[kind.index(" (") + 2 : -1] if kind.endswith(")") and " (" in kind else kind
    return base.partition("(")[0].partition(" collate")[0].strip().lower()


def _types_of(database: Database, table: TableName) -> dict[str, str]:
    found = database.dialect.catalog.types_of(database, table, f"reading the types of table {table.full}")
    return {name: kind.lower() for name, kind in found.items()}
