"""Casts fields, or the whole key or value, to other types (Cast)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.cast.columns import cast_column
from connect.transforms.cast.values import cast_value
from connect.transforms.settings.config import CastConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import FieldsTransform, each_column, map_rows
from connect.transforms.structure.nested import Nested, Path
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import (
    PerSchema,
    column_of,
    masked_by,
    members,
    plain_schema,
    rebuilt,
    value_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

LOGICAL_NAMES = frozenset({s.DECIMAL, s.DATE, s.TIME, s.TIMESTAMP})


class _CastFields:
    def __init__(self, casts: Mapping[str, Type], *, default: bool) -> None:
        self._casts = casts
        self._default = default

    def schema_of(self, schema: Schema) -> Schema:
        made = rebuilt(schema, (Field(f.name, self._field_schema(f)) for f in schema.fields))
        default = schema.default
        if isinstance(default, Mapping):
            default = self.struct_row(default, schema, made, None, 0)
        return replace(made, optional=schema.optional, default=default)

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return each_column(schema, lambda field: self._column(array, schema, field))

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch | None, _i: int
    ) -> dict[str, Any]:
        cast = {}
        for field in schema.fields:
            value = value_of(row, field, default=self._default)
            target = self._casts.get(field.name)
            cast[field.name] = value if target is None else cast_value(value, field.schema, target)
        return cast

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {**row, **{name: cast_value(row.get(name), None, target) for name, target in self._casts.items()}}

    def whole_columns(self, array: pa.StructArray) -> dict[str, pa.Array] | None:
        made = members(array)
        for name, target in self._casts.items():
            schema = plain_schema(made[name]) if name in made else None
            # A schemaless float32 is a Python float, whose text is that of a double.
            if schema is None or target is Type.FLOAT32:
                return None
            made[name] = cast_column(masked_by(made[name], array), schema, target)
        return made

    def _field_schema(self, field: Field) -> Schema:
        target = self._casts.get(field.name)
        return field.schema if target is None else _schema_of(field.schema, target)

    def _column(self, array: pa.StructArray, schema: Schema, field: Field) -> pa.Array:
        column = column_of(array, schema, field, default=self._default)
        target = self._casts.get(field.name)
        # The slot of a tombstone may hold anything in Arrow. It is no value, so it is neither cast nor refused.
        return column if target is None else cast_column(masked_by(column, array), field.schema, target)


@dataclass(frozen=True, slots=True)
class _CastWhole:
    side: Side
    target: Type
    schema_of: PerSchema[Schema]

    def apply(self, batch: Batch) -> list[Batch]:
        column = self.side.of(batch)
        if len(null_rows(column)) == len(batch):
            return [batch]
        return [self.side.put(batch, self._cast(column))]

    def _cast(self, column: Column) -> Column:
        schema = column.schema
        if schema is None:
            return map_rows(column, None, lambda value, _: cast_value(value, None, self.target))
        made = self.schema_of(schema)
        if column.is_arrow:
            return Column.from_arrow(cast_column(column.arrow(), schema, self.target), made)
        return map_rows(column, made, lambda value, _: cast_value(value, schema, self.target))


def _schema_of(schema: Schema, target: Type) -> Schema:
    return Schema(target, optional=schema.optional, default=cast_value(schema.default, schema, target))


def _whole_schema(schema: Schema, target: Type) -> Schema:
    """Return the schema of a whole key or value that was cast.

    It keeps name, version, doc and parameters, unless they say that the value is a date or decimal, which it no longer
    is. Java keeps them even then, and fails to write the record.
    """
    made = _schema_of(schema, target)
    if schema.name in LOGICAL_NAMES:
        return made
    return replace(schema, type=target, default=made.default)


def _transform(side: Side, config: CastConfig) -> FieldsTransform | Nested | _CastWhole:
    target = config.casts.whole
    if target is None:
        casts = config.casts.fields

        def of(fields: Mapping[str, Type]) -> FieldsTransform:
            kernel = _CastFields(fields, default=config.replace_null)
            return FieldsTransform(side, "cast types", kernel, no_struct="Cannot list fields on non-struct type")

        if not config.nested:
            return of(casts)
        groups: dict[Path, dict[str, Type]] = {}
        for name, kind in casts.items():
            path = parse_path(name, "V2")
            groups.setdefault(path[:-1], {})[path[-1]] = kind
        return Nested(side, {parent: of(fields) for parent, fields in groups.items()})
    return _CastWhole(side, target, PerSchema(lambda schema: _whole_schema(schema, target)))


def key(config: CastConfig) -> FieldsTransform | Nested | _CastWhole:
    """Return the transform Cast$Key."""
    return _transform(Side.KEY, config)


def value(config: CastConfig) -> FieldsTransform | Nested | _CastWhole:
    """Return the transform Cast$Value."""
    return _transform(Side.VALUE, config)
