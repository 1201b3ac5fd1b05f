"""Describes the schema of a table: its columns by kind, with their types. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from connectors.cassandra.cql.cql_types import CqlType


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Describes a column. `descending` is the order of a clustering column."""

    name: str
    type: CqlType
    descending: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it is now. Its id tells it from an earlier one of the same name.

    `dropped`: types of columns that were dropped, by name; the commit log may still hold values of them. `dropped_us`:
    of those that were added again, until when what was written to them is gone, in microseconds since 1970. `cdc_us`:
    since when, at the latest, `cdc` is as it is, by the clock of those who changed the table; None: not told.
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

    @property
    def title(self) -> str:
        """Return the table's name as `keyspace.table`."""
        return f"{self.keyspace}.{self.name}"

    @property
    def primary_key(self) -> Sequence[TableColumn]:
        """Partition key, then clustering columns."""
        return (*self.partition_key, *self.clustering)

    @property
    def columns(self) -> Sequence[TableColumn]:
        """Return all columns in the order of `SELECT *`."""
        by_name = sorted((*self.static, *self.regular), key=lambda column: column.name)
        statics = [column for column in by_name if column in self.static]
        return (*self.primary_key, *statics, *(column for column in by_name if column not in self.static))

    @cached_property
    def value_types(self) -> Mapping[str, CqlType]:
        """Return the types of all columns that have cells, those that were dropped included."""
        return {**self.dropped, **{column.name: column.type for column in (*self.static, *self.regular)}}
