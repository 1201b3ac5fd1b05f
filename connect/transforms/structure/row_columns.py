"""Gives the rows of columns to a function that changes some of their fields, and keeps the columns of the others.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, Final

from connect.api.arrow import arrow_type
from connect.api.arrow_rows import arrow_from_rows, member_array, members_of, rows_from_arrow, struct_rows
from connect.api.records import Column
from connect.api.schema import Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

_CONTAINERS: Final = frozenset({list, dict})
_NESTED: Final = frozenset({Type.ARRAY, Type.MAP, Type.STRUCT})


@dataclass(frozen=True, slots=True)
class StructColumns:
    """Holds a batch's columns, with their values in Python form."""

    schema: Schema
    arrays: Sequence[pa.Array]
    values: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, column: Column) -> StructColumns | None:
        """Return a batch's columns; None if it has no columns, or if a row is null."""
        schema = column.schema
        if schema is None or schema.type is not Type.STRUCT or not schema.fields or not column.is_arrow:
            return None
        array = column.arrow()
        if array.null_count:
            return None
        arrays = array.flatten()
        return cls(schema, arrays, [rows_from_arrow(array) for array in arrays])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the rows, each as a new dict."""
        return iter(struct_rows([field.name for field in self.schema.fields], self.values))

    def changed(self, rows: Sequence[Any], kept: Sequence[int], schema: Schema) -> Column:
        """Return a column of the rows that a function made of the rows at `kept`, under the schema that it declares.

        A field whose values are still the same objects keeps its column. SchemaError: a row does not fit.
        """
        import pyarrow as pa

        if not set().union(*rows) <= schema.field_index.keys():
            return Column.from_arrow(arrow_from_rows(rows, schema), schema)  # its error names the field
        places = {field.name: i for i, field in enumerate(self.schema.fields) if field.schema.type not in _NESTED}
        picked = None if len(kept) == len(self.values[0]) else pa.array(kept, pa.int64())
        arrays = []
        for field in schema.fields:
            place = places.get(field.name)
            if place is not None and self.schema.fields[place] == field and self._is_same(rows, place, kept):
                arrays.append(self.arrays[place] if picked is None else self.arrays[place].take(picked))
            else:
                arrays.append(member_array(members_of(rows, field.name), field.schema, field.name))
        return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema))), schema)

    def _is_same(self, rows: Sequence[Any], place: int, kept: Sequence[int]) -> bool:
        given = self.values[place]
        if len(kept) < len(given):
            given = [given[i] for i in kept]
        try:
            return all(map(is_, map(itemgetter(self.schema.fields[place].name), rows), given))
        except KeyError:
            return False


def copied(row: Any) -> Any:
    """Return a copy of a row that a function may change at any depth, as the original may have to be tried again."""
    if not isinstance(row, dict):
        return deepcopy(row) if isinstance(row, list) else row
    return {name: deepcopy(value) if type(value) in _CONTAINERS else value for name, value in row.items()}
