"""Applies transforms of fields to fields at dotted paths: each changes the structs that hold the fields, at any depth.

Kafka 4.1 reads paths in ExtractField alone, so this is our extension. With `field.syntax.version=V1` it is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import masked_by, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

Path = tuple[str, ...]


class Nested:
    """Applies one transform for each parent, first to the deepest parents. It is owned by one task thread."""

    def __init__(self, side: Side, parts: Mapping[Path, FieldsTransform]) -> None:
        self._side = side
        self._parts = sorted(parts.items(), key=lambda part: -len(part[0]))

    def apply(self, batch: Batch) -> list[Batch]:
        """Return one batch; nothing changes in rows whose parent is missing or null."""
        for path, transform in self._parts:
            if path:
                batch = self._side.put(batch, self._below(self._side.of(batch), path, transform, batch))
            else:
                (batch,) = transform.apply(batch)
        return [batch]

    def _below(self, column: Column, path: Path, transform: FieldsTransform, batch: Batch) -> Column:
        if not path:
            return self._on_present(column, transform, batch)
        schema = column.schema
        if schema is None:
            return self._of_maps(column, path, transform, batch)
        if schema.type is not Type.STRUCT:
            raise SchemaError("Cannot look up fields on non-struct type", field=".".join(path))
        inside = schema.field(path[0])
        if inside is None:
            return column
        if column.is_arrow:
            array = column.arrow()
            child = masked_by(array.field(schema.field_index[path[0]]), array)
            made = self._below(Column.from_arrow(child, inside), path[1:], transform, batch)
            whole = _with_field(schema, path[0], made.schema)
            columns = [made.arrow() if f.name == path[0] else array.field(i) for i, f in enumerate(schema.fields)]
            return Column.from_arrow(struct_array(columns, whole, array), whole)
        rows = column.rows()
        children = [None if row is None else row.get(path[0]) for row in rows]
        made = self._below(Column.from_rows(children, inside), path[1:], transform, batch)
        put = [None if row is None else {**row, path[0]: child} for row, child in zip(rows, made.rows(), strict=True)]
        return Column.from_rows(put, _with_field(schema, path[0], made.schema))

    def _of_maps(self, column: Column, path: Path, transform: FieldsTransform, batch: Batch) -> Column:
        rows = column.rows()
        children = [row.get(path[0]) if isinstance(row, Mapping) else None for row in rows]
        made = self._below(Column.from_rows(children, None), path[1:], transform, batch).rows()
        put = [
            {**row, path[0]: child} if isinstance(row, Mapping) and path[0] in row else row
            for row, child in zip(rows, made, strict=True)
        ]
        return Column.from_rows(put, None)

    def _on_present(self, column: Column, transform: FieldsTransform, batch: Batch) -> Column:
        """Transform the rows that are not null: it is no error if a null parent lacks the fields."""
        schema = column.schema
        nulls = null_rows(column)
        made = None if schema is None else transform.schema_of(schema).as_optional(schema.optional)
        if len(nulls) == len(column):
            return Column.nulls(len(column), made)
        if not nulls:
            return _under(self._applied(transform, batch, column), made)
        gone = frozenset(nulls)
        present = [i for i in range(len(column)) if i not in gone]
        try:
            changed = self._applied(transform, batch.take(present), column.take(present))
        except RejectedRowsError as error:
            raise RejectedRowsError({present[i]: cause for i, cause in error.rows.items()}) from error
        if column.is_arrow and made is not None:
            return Column.from_arrow(_scattered(changed.arrow(), present, len(column)), made)
        rows = dict(zip(present, changed.rows(), strict=True))
        return Column.from_rows([rows.get(i) for i in range(len(column))], made)

    def _applied(self, transform: FieldsTransform, batch: Batch, column: Column) -> Column:
        (changed,) = transform.apply(self._side.put(batch, column))
        return self._side.of(changed)


def by_parent(names: Iterable[str]) -> dict[Path, list[str]]:
    """Return the last steps of dotted paths, by the steps before them."""
    groups: dict[Path, list[str]] = {}
    for name in names:
        path = parse_path(name, "V2")
        groups.setdefault(path[:-1], []).append(path[-1])
    return groups


def nested(side: Side, names: Iterable[str], make: Callable[[list[str]], FieldsTransform]) -> Nested:
    """Return a transform of the fields at these paths; `make` makes the transform for plain names of fields."""
    return Nested(side, {parent: make(own) for parent, own in by_parent(names).items()})


def _with_field(schema: Schema, name: str, made: Schema | None) -> Schema:
    if made is None:
        return schema
    fields = tuple(Field(f.name, made) if f.name == name else f for f in schema.fields)
    return replace(schema, fields=fields, default=None)


def _under(column: Column, schema: Schema | None) -> Column:
    if schema is None or column.schema == schema:
        return column
    return Column.from_arrow(column.arrow(), schema) if column.is_arrow else Column.from_rows(column.rows(), schema)


def _scattered(array: pa.Array, places: list[int], length: int) -> pa.Array:
    """Return an array of this length with the given rows at their places, and nulls elsewhere."""
    import pyarrow as pa

    at: list[Any] = [None] * length
    for i, place in enumerate(places):
        at[place] = i
    return array.take(pa.array(at, pa.int64()))
