"""Reads the tables of a cluster from its system_schema keyspace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from connect.api.errors import RetriableError, SchemaError
from connectors.cassandra.cql.cql_types import UserTypes, parse_type, user_types_of
from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.tables import Table, TableColumn

_TABLES = "SELECT keyspace_name, table_name, id, cdc, writetime(cdc) FROM system_schema.tables"
_KEYSPACES = "SELECT keyspace_name, durable_writes FROM system_schema.keyspaces"
_VIEWS = "SELECT keyspace_name, view_name, id FROM system_schema.views"
_COLUMNS = (
    "SELECT keyspace_name, table_name, column_name, kind, position, type, clustering_order FROM system_schema.columns"
)
_TYPES = "SELECT keyspace_name, type_name, field_names, field_types FROM system_schema.types"
# The time is read as a number: it can be beyond what the driver's datetime holds, which fails the whole page.
_DROPPED = (
    "SELECT keyspace_name, table_name, column_name, type, toUnixTimestamp(dropped_time) "
    "FROM system_schema.dropped_columns"
)
Dropped = Sequence[tuple[str, str, int]]
"""Holds the name, the type's text and the time in milliseconds of each column that was dropped."""


class Schemas:
    """Holds the tables and materialized views whose schema could be read, by id, and what is wrong with the others."""

    def __init__(
        self,
        tables: Iterable[Table],
        broken: Mapping[str, str],
        broken_ids: Iterable[UUID] = (),
        views: Iterable[Table] = (),
    ) -> None:
        self.tables = {table.id: table for table in tables}
        self.views = {view.id: view for view in views}
        self.broken_ids = frozenset(broken_ids)
        self.broken = dict(broken)
        """Maps the `keyspace.table` of each other table or view to the reason why its schema cannot be read."""

    def of_keyspace(self, keyspace: str) -> dict[str, Table]:
        """Return the tables of a keyspace by name, without views."""
        return {table.name: table for table in self.tables.values() if table.keyspace == keyspace}


_TRIES: Final = 5


def read_schemas(database: Queries) -> Schemas:
    """Return the tables and views of the whole cluster.

    Raise RetriableError when no node answers, or when tables are made or dropped during each of several tries.
    """
    for _ in range(_TRIES):
        before = _listed(database)
        schemas = _read(database, before)
        # If another table took over a name meanwhile, the columns that were read would be those of the wrong table.
        if _listed(database) == before:
            return schemas
    raise RetriableError("Tables are made and dropped while the schema is read.")


def _listed(database: Queries) -> list[tuple[Any, ...]]:
    """Return keyspace, name, id, cdc, the writetime of cdc, and True for a view, of every table and view."""
    doing = "reading system_schema"
    tables = [(*row, False) for row in database.rows(_TABLES, doing=doing)]
    return [*tables, *((*row, False, None, True) for row in database.rows(_VIEWS, doing=doing))]


def _read(database: Queries, listed: Sequence[tuple[Any, ...]]) -> Schemas:
    doing = "reading system_schema"
    columns: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for keyspace, table, *column in database.rows(_COLUMNS, doing=doing):
        columns[keyspace, table].append(tuple(column))
    dropped: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for keyspace, table, column, kind, dropped_ms in database.rows(_DROPPED, doing=doing):
        dropped[keyspace, table].append((column, kind, dropped_ms))
    types: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = defaultdict(dict)
    for keyspace, name, fields, texts in database.rows(_TYPES, doing=doing):
        types[keyspace][name] = (tuple(fields), tuple(texts))
    unlogged = {keyspace for keyspace, durable in database.rows(_KEYSPACES, doing=doing) if durable is False}
    user_types = {keyspace: user_types_of(keyspace, found) for keyspace, found in types.items()}
    tables: list[Table] = []
    views: list[Table] = []
    broken, broken_ids = {}, []
    for keyspace, name, table_id, cdc, cdc_us, is_view in listed:
        bare = Table(table_id, keyspace, name, (), cdc=bool(cdc), cdc_us=cdc_us, is_logged=keyspace not in unlogged)
        try:
            (views if is_view else tables).append(
                _filled(bare, columns[keyspace, name], dropped[keyspace, name], user_types.get(keyspace, {}))
            )
        except SchemaError as error:
            broken[bare.title] = str(error)
            broken_ids.append(table_id)
    return Schemas(tables, broken, broken_ids, views)


def _filled(bare: Table, columns: list[tuple[Any, ...]], dropped: Dropped, user_types: UserTypes) -> Table:
    """Return the table with its columns; each of `columns` is its name, kind, position, type text and order."""
    of_kind: dict[str, list[tuple[int, TableColumn]]] = defaultdict(list)
    for column, kind, position, text, order in columns:
        made = TableColumn(column, parse_type(text, user_types), descending=order.lower() == "desc")
        of_kind[kind].append((position, made))
    there = {column for column, *_ in columns}
    ordered = {
        kind: tuple(column for _, column in sorted(found, key=lambda pair: (pair[0], pair[1].name)))
        for kind, found in of_kind.items()
    }
    return replace(
        bare,
        partition_key=ordered.get("partition_key", ()),
        clustering=ordered.get("clustering", ()),
        static=ordered.get("static", ()),
        regular=ordered.get("regular", ()),
        dropped={name: parse_type(text, user_types) for name, text, _ in dropped},
        dropped_us={name: 1000 * dropped_ms for name, _, dropped_ms in dropped if name in there},
    )
