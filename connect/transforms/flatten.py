"""Moves nested fields to the top level under joined names (Flatten). On Arrow only defaults change values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.config import FlattenConfig
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import masked_by, members, rebuilt, with_default

if TYPE_CHECKING:
    import pyarrow as pa


class _Flatten:
    def __init__(self, config: FlattenConfig) -> None:
        self._delimiter = config.delimiter

    def schema_of(self, schema: Schema) -> Schema:
        return rebuilt(schema, self._leaves(schema, "", optional=schema.optional, default=schema.default))

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return list(_leaf_columns(array, schema))

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return dict(zip(made.field_index, _leaf_values(row, schema), strict=True))

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return dict(self._entries(row, ""))

    def whole_columns(self, array: pa.StructArray) -> dict[str, pa.Array] | None:
        """Return the columns by key; None if two of them would have the same name.

        A map that is missing in some rows stays a null there.
        """
        found = list(self._column_entries(array, ""))
        made = dict(found)
        return made if len(made) == len(found) else None

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _leaves(self, schema: Schema, prefix: str, *, optional: bool, default: object) -> Iterator[Field]:
        """Yield the fields that contain no further fields.

        They are optional if a parent is. If a field has no default, it gets its value in the parent's default.
        """
        for field in schema.fields:
            name = self._name(prefix, field.name)
            inherited = default.get(field.name) if isinstance(default, Mapping) else None
            own = field.schema.default if field.schema.default is not None else inherited
            nullable = optional or field.schema.optional
            if field.schema.type is Type.STRUCT:
                yield from self._leaves(field.schema, name, optional=nullable, default=own)
            elif field.schema.type is Type.MAP:
                kind = field.schema.type.upper()
                raise SchemaError(
                    f"Flatten transformation does not support {kind} for record with schemas (for field {name})."
                )
            else:
                yield Field(name, replace(field.schema, optional=nullable, default=own))

    def _entries(self, row: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in row.items():
            if not isinstance(name, str):
                raise SchemaError(
                    f"Field names must be texts; a map has the key {name!r} of type {type(name).__name__}."
                )
            whole = self._name(prefix, name)
            if isinstance(value, Mapping):
                yield from self._entries(value, whole)
            elif isinstance(value, date | time | Decimal):
                kind = class_name(value, None)
                raise SchemaError(
                    f"Flatten transformation was passed a value of type class {kind} which is not supported by "
                    "Connect's data API"
                )
            else:
                yield whole, value

    def _column_entries(self, array: pa.StructArray, prefix: str) -> Iterator[tuple[str, pa.Array]]:
        import pyarrow as pa

        for name, column in members(array).items():
            whole = self._name(prefix, name)
            if not pa.types.is_struct(column.type):
                yield whole, masked_by(column, array)
            elif masked_by(column, array).null_count == array.null_count:
                yield from self._column_entries(masked_by(column, array), whole)
            else:
                raise SchemaError(f"The map {whole} is not there in every row.")


def _leaf_values(row: Mapping[str, Any] | None, schema: Schema) -> Iterator[Any]:
    for field in schema.fields:
        value = None if row is None else row.get(field.name)
        if field.schema.type is Type.STRUCT:
            yield from _leaf_values(value, field.schema)
        elif value is None and row is not None:
            yield field.schema.default
        else:
            yield value


def _leaf_columns(array: pa.StructArray, schema: Schema) -> Iterator[pa.Array]:
    for i, field in enumerate(schema.fields):
        column = array.field(i)
        if field.schema.type is Type.STRUCT:
            yield from _leaf_columns(masked_by(column, array), field.schema)
        else:
            yield masked_by(with_default(column, field.schema), array)


def key(config: FlattenConfig) -> FieldsTransform:
    """Return the transform Flatten$Key."""
    return FieldsTransform(Side.KEY, "flattening", _Flatten(config))


def value(config: FlattenConfig) -> FieldsTransform:
    """Return the transform Flatten$Value."""
    return FieldsTransform(Side.VALUE, "flattening", _Flatten(config))
