"""Makes fields of the value the key (ValueToKey)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, struct
from connect.transforms.extract_field import extract
from connect.transforms.settings.config import ValueToKeyConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import FieldsTransform, not_a_row
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import column_of, members, struct_array, unique, value_of

if TYPE_CHECKING:
    import pyarrow as pa


class _Picked:
    def __init__(self, config: ValueToKeyConfig) -> None:
        self._names = config.fields
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return struct(unique(self._field(schema, name) for name in self._names))

    def columns(self, array: pa.StructArray, schema: Schema, made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [column_of(array, schema, field, default=self._default) for field in made.fields]

    def struct_row(
        self, row: Mapping[str, Any], _schema: Schema, made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {field.name: value_of(row, field, default=self._default) for field in made.fields}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {name: row.get(name) for name in self._names}

    def whole_columns(self, array: pa.StructArray) -> dict[str, pa.Array] | None:
        found = members(array)
        return {name: found[name] for name in self._names} if found.keys() >= set(self._names) else None

    def _field(self, schema: Schema, name: str) -> Field:
        found = schema.field(name)
        if found is None:
            raise SchemaError(f"Field does not exist: {name}")
        return Field(name, found)


class ValueToKey:
    """Makes new keys of fields of the value. The value stays as it is."""

    def __init__(self, config: ValueToKeyConfig) -> None:
        purpose = "copying fields from value to key"
        self._keys = FieldsTransform(Side.VALUE, purpose, _Picked(config), nulls=False)
        self._paths = config.fields if config.nested else ()
        self._default = config.replace_null

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with its new keys."""
        if self._paths:
            return [replace(batch, keys=self._at_paths(batch.values))]
        (picked,) = self._keys.apply(batch)
        return [replace(batch, keys=picked.values)]

    def _at_paths(self, values: Column) -> Column:
        """Return the keys made of the fields at the paths; each field is named by the last step of its path."""
        nulls = null_rows(values)
        if nulls:
            error = not_a_row(None, values.schema, "copying fields from value to key")
            raise RejectedRowsError(dict.fromkeys(nulls, error))
        names = [parse_path(path, "V2")[-1] for path in self._paths]
        columns = [extract(values, path, "V2", default=self._default) for path in self._paths]
        if values.schema is None:
            rows = zip(*(column.rows() for column in columns), strict=True)
            return Column.from_rows([dict(zip(names, row, strict=True)) for row in rows], None)
        # If a parent is null, its fields are null, so they become optional.
        nullable = [column.schema.as_optional() for column in columns if column.schema is not None]
        made = struct(unique(Field(name, schema) for name, schema in zip(names, nullable, strict=True)))
        if values.is_arrow:
            return Column.from_arrow(struct_array([column.arrow() for column in columns], made, values.arrow()), made)
        picked = zip(*(column.rows() for column in columns), strict=True)
        return Column.from_rows([dict(zip(names, row, strict=True)) for row in picked], made)
