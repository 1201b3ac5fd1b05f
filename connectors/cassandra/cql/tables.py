"""Describes the schema of a table: its columns by kind, with their types. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from connectors.cassandra.cql.cql_types import CqlType


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Describes a column. `descending` tells the order in which a clustering column is stored."""

    name: str
    type: CqlType
    descending: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """Describes a table as it is now. Its id tells it from an earlier table of the same name.

    `dropped` holds the types of dropped columns by name, as the commit log may still have values of them. `dropped_us`
    concerns columns that were added again after a drop: values written until then are gone (microseconds since 1970).
    `cdc` has had its value since `cdc_us` at the latest, in microseconds by the clock of the client that changed the
    table; None if this is not known. `is_logged` is False in a keyspace with `durable_writes = false`, of which the
    nodes write nothing to their commit logs, whatever `cdc` says.
    """

    id: UUID
    keyspace: str
    name: str
    partition_key: Sequence[TableColumn]
    clustering: Sequence[TableColumn] = ()
    static: Sequence[TableColumn] = ()
    regular: Sequence[TableColumn] = ()
    dropped: Mapping[str, CqlType] = field(default_factory=dict)
    dropped_us: Mapping[str, int] = field(default_factory=dict)
    cdc: bool = False
    cdc_us: int | None = None
    is_logged: bool = True

    @property
    def title(self) -> str:
        """Return the table's name as `keyspace.table`."""
        return f"{self.keyspace}.{self.name}"

    @property
    def primary_key(self) -> Sequence[TableColumn]:
        """Return the partition key columns, then the clustering columns."""
        return (*self.partition_key, *self.clustering)

    @property
    def columns(self) -> Sequence[TableColumn]:
        """Return all columns in the order of `SELECT *`."""
        by_name = sorted((*self.static, *self.regular), key=lambda column: column.name)
        statics = [column for column in by_name if column in self.static]
        return (*self.primary_key, *statics, *(column for column in by_name if column not in self.static))

    @cached_property
    def appended_lists(self) -> frozenset[str]:
        """Return the names of the lists that are not frozen: each element has a place that the server makes up."""
        return frozenset(
            column.name
            for column in (*self.static, *self.regular)
            if column.type.name == "list" and column.type.is_multicell
        )

    @cached_property
    def value_types(self) -> Mapping[str, CqlType]:
        """Return the types of all columns that have cells, by name: static, regular and dropped ones."""
        return {**self.dropped, **{column.name: column.type for column in (*self.static, *self.regular)}}
