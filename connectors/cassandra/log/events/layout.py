"""Tells where the values of a table's rows end, so that its changes can be passed over after the table was dropped.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.tables import Table

_COUNTED, _MULTICELL = -1, -2
"""In a stored layout these stand for a size: each value has its length before it, or each element is a cell."""


class ColumnLayout(NamedTuple):
    """Holds the number of bytes of a column's values; None: each value has its length before it.

    `is_multicell`: each element of a value is a cell of its own.
    """

    size: int | None
    is_multicell: bool


class Layout(NamedTuple):
    """Holds the layout of a table: the sizes of its clustering columns, and the layouts of the columns with cells."""

    title: str
    clustering: tuple[int | None, ...]
    columns: Mapping[str, ColumnLayout]

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return the layout of a table as it is now."""
        sizes = tuple(column.type.fixed_size for column in table.clustering)
        return cls(table.title, sizes, {name: _column(kind) for name, kind in table.value_types.items()})

    @classmethod
    def of_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the layout of what `stored` returned before."""
        sizes = tuple(None if size == _COUNTED else size for size in stored["clustering"])
        columns = {
            name: ColumnLayout(None if size < 0 else size, size == _MULTICELL)
            for name, size in stored["columns"].items()
        }
        return cls(stored["title"], sizes, columns)

    @property
    def stored(self) -> dict[str, Any]:
        """Return the layout in a form that JSON can hold."""
        return {
            "title": self.title,
            "clustering": [_COUNTED if size is None else size for size in self.clustering],
            "columns": {
                name: _MULTICELL if column.is_multicell else _COUNTED if column.size is None else column.size
                for name, column in self.columns.items()
            },
        }


def _column(kind: CqlType) -> ColumnLayout:
    return ColumnLayout(None, is_multicell=True) if kind.is_multicell else ColumnLayout(kind.fixed_size, False)
