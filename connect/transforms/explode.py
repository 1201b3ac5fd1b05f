"""Turns one row into one row for each element of an array; Arrow columns are gathered (Explode).

Order, keys, headers and positions in Kafka are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.extra_config import ExplodeConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import not_a_row
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import masked_by, rebuilt, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

_PURPOSE = "explode"


@dataclass(frozen=True, slots=True)
class _Explode:
    side: Side
    path: tuple[str, ...]
    element: bool
    keep: bool
    index_field: str | None

    def apply(self, batch: Batch) -> list[Batch]:
        column = self.side.of(batch)
        schema = column.schema
        if schema is not None and column.is_arrow and schema.type is Type.STRUCT:
            parents, made = self._columns(column.arrow(), schema)
        else:
            parents, made = self._rows(column.rows(), schema)
        return [self.side.put(batch.take(parents), made)] if parents else []

    def _rows(self, rows: Sequence[Any], schema: Schema | None) -> tuple[list[int], Column]:
        parents: list[int] = []
        values: list[Any] = []
        rejected: dict[int, Exception] = {}
        made = None if schema is None else self._schema(schema, self.path)
        for i, row in enumerate(rows):
            try:
                exploded = [None] if row is None else self._row(row, schema)
            except SchemaError as error:
                rejected[i] = error
            else:
                parents += [i] * len(exploded)
                values += exploded
        if rejected:
            raise RejectedRowsError(rejected)
        return parents, Column.from_rows(values, made)

    def _row(self, row: Any, schema: Schema | None) -> list[Any]:
        found: Any = row
        for step in self.path:
            if found is None:
                break
            if not isinstance(found, Mapping):
                raise not_a_row(found, schema, _PURPOSE)
            found = found.get(step)
        if found is not None and not isinstance(found, list | tuple):
            raise SchemaError(f"Only arrays can be exploded, found: {type(found).__name__}.", field=".".join(self.path))
        elements: Sequence[Any] = found or ([None] if self.keep else [])
        if self.element:
            return list(elements)
        placed = [_with(row, self.path, element) for element in elements]
        if self.index_field is not None:
            placed = [{**one, self.index_field: i if found else None} for i, one in enumerate(placed)]
        return placed

    def _schema(self, schema: Schema, path: tuple[str, ...]) -> Schema:
        made = self._placed(schema, path)
        if self.index_field is not None:
            made = rebuilt(made, (*made.fields, Field(self.index_field, s.INT32.as_optional())))
        return made.as_optional(schema.optional or self.element)

    def _placed(self, schema: Schema, path: tuple[str, ...]) -> Schema:
        if not path:
            if schema.type is not Type.ARRAY or schema.items is None:
                raise SchemaError(f"Only arrays can be exploded, found: {schema.type}.", field=".".join(self.path))
            return schema.items.as_optional()
        if schema.type is not Type.STRUCT:
            raise SchemaError("Cannot look up fields on non-struct type", field=".".join(self.path))
        member = schema.field(path[0])
        if member is None:
            raise SchemaError(f"Unknown field: {'.'.join(self.path)}")
        below = self._placed(member, path[1:])
        if self.element:
            return below
        fields = [Field(f.name, below) if f.name == path[0] else f for f in schema.fields]
        return replace(rebuilt(schema, fields), optional=schema.optional)

    def _columns(self, array: pa.StructArray, schema: Schema) -> tuple[list[int], Column]:
        import pyarrow as pa
        import pyarrow.compute as pc

        made = self._schema(schema, self.path)
        lists, step = array, schema
        for name in self.path:
            lists = masked_by(lists.field(step.field_index[name]), lists)
            step = step.field(name) or step
        counts = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int64())
        # A null value is a tombstone, and no setting drops tombstones.
        shown = pc.max_element_wise(counts, 1) if self.keep else pc.if_else(array.is_null(), 1, counts)
        ends = pc.cumulative_sum(shown)
        total = ends[-1].as_py() if len(array) else 0
        row_ends = pa.concat_arrays([pa.array([0], pa.int64()), ends])
        parents = pc.list_parent_indices(pa.LargeListArray.from_arrays(row_ends, pa.nulls(total)))
        index = pc.subtract(pa.arange(0, total, 1), row_ends.take(parents))
        starts = pc.subtract(pc.cumulative_sum(counts), counts)
        given = pc.greater(counts.take(parents), 0)
        index = pc.if_else(given, index, None)
        elements = lists.flatten().take(pc.add(starts.take(parents), index))
        places = parents.to_pylist()
        if self.element:
            return places, Column.from_arrow(elements, made)
        whole = array.take(parents)
        index_column = index.cast(pa.int32())
        return places, Column.from_arrow(self._put(whole, schema, made, self.path, elements, index_column), made)

    def _put(  # noqa: PLR0917 - a recursion over all of them
        self, array: pa.StructArray, schema: Schema, made: Schema, path: tuple[str, ...], elements: pa.Array,
        index: pa.Array,
    ) -> pa.StructArray:  # fmt: skip
        columns = []
        for field in schema.fields:
            column = array.field(schema.field_index[field.name])
            if field.name == path[0]:
                below = made.field(field.name)
                assert below is not None
                deeper = len(path) > 1
                column = self._put(column, field.schema, below, path[1:], elements, index) if deeper else elements
            columns.append(column)
        if len(path) == len(self.path) and self.index_field is not None:
            columns.append(index)
        return struct_array(columns, made, array)


def _with(row: Mapping[str, Any] | None, path: tuple[str, ...], element: Any) -> Any:
    """Return the row with the element at the path; a parent that is null stays null."""
    if not path:
        return element
    if row is None:
        return None
    return {**row, path[0]: _with(row.get(path[0]), path[1:], element)} if path[0] in row else dict(row)


def _transform(side: Side, config: ExplodeConfig) -> _Explode:
    path = parse_path(config.field, "V2")
    return _Explode(side, path, config.output == "element", config.empty_arrays == "keep", config.index_field)


def key(config: ExplodeConfig) -> _Explode:
    """Return the transform Explode$Key."""
    return _transform(Side.KEY, config)


def value(config: ExplodeConfig) -> _Explode:
    """Return the transform Explode$Value."""
    return _transform(Side.VALUE, config)
