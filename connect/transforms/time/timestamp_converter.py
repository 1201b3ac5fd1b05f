"""Converts moments between these forms: text, unix time, Date, Time and Timestamp (TimestampConverter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.config import TimestampConverterConfig
from connect.transforms.structure.fields import FieldsTransform, map_rows
from connect.transforms.structure.nested import Nested, nested
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
from connect.transforms.time.moments import Form, Moments, form_of, target_schema
from connect.transforms.time.moments_columns import convert_column

if TYPE_CHECKING:
    import pyarrow as pa


class _OneField:
    def __init__(self, config: TimestampConverterConfig, moments: Moments, name: str) -> None:
        self._name = name
        self._moments = moments
        self._target = Form(config.target_type)
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        made = rebuilt(schema, (Field(f.name, self._field_schema(f)) for f in schema.fields))
        default = self._converted(schema.default, schema) if isinstance(schema.default, Mapping) else None
        return replace(made, optional=schema.optional, default=default)

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [self._column(array, schema, field) for field in schema.fields]

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return self._converted(row, schema)

    def _converted(self, row: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        values = {field.name: value_of(row, field, default=self._default) for field in schema.fields}
        found = schema.field(self._name)
        if found is not None:
            form_of(found)
            values[self._name] = self._moments.convert(values[self._name], found)
        return values

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {**row, self._name: self._moments.convert(row.get(self._name), None)}

    def whole_columns(self, array: pa.StructArray) -> dict[str, pa.Array] | None:
        made = members(array)
        schema = plain_schema(made[self._name]) if self._name in made else None
        if schema is None or self._target not in {Form.STRING, Form.UNIX}:
            return None
        made[self._name] = convert_column(masked_by(made[self._name], array), schema, self._moments)
        return made

    def _field_schema(self, field: Field) -> Schema:
        if field.name != self._name:
            return field.schema
        return target_schema(self._target, optional=field.schema.optional)

    def _column(self, array: pa.StructArray, schema: Schema, field: Field) -> pa.Array:
        column = column_of(array, schema, field, default=self._default)
        if field.name != self._name:
            return column
        # Arrow may hold any values below a tombstone; they are no values, so they are neither converted nor refused.
        return convert_column(masked_by(column, array), field.schema, self._moments)


class _TimestampConverter:
    """Converts the whole key or value, or one field of it."""

    def __init__(self, side: Side, config: TimestampConverterConfig) -> None:
        self._side = side
        self._whole = not config.field
        self._moments = Moments(
            Form(config.target_type), config.format, config.unix_precision, this_year=datetime.now(UTC).year
        )
        self._target = Form(config.target_type)
        self._kernel = _OneField(config, self._moments, config.field)
        self._field = FieldsTransform(side, "converting timestamp formats", self._kernel)
        self._schema_of = PerSchema(self._kernel.schema_of)

    def apply(self, batch: Batch) -> list[Batch]:
        column = self._side.of(batch)
        if self._whole:
            return [self._side.put(batch, self._converted(column))]
        schema = column.schema
        if schema is None or len(null_rows(column)) < len(column):
            return self._field.apply(batch)
        if schema.type is not Type.STRUCT:
            raise SchemaError("Cannot list fields on non-struct type")
        return [self._side.put(batch, Column.nulls(len(column), self._schema_of(schema)))]

    def _converted(self, column: Column) -> Column:
        schema = column.schema
        if schema is None:
            return map_rows(column, None, lambda value, _: self._moments.convert(value, None))
        form_of(schema)
        made = target_schema(self._target, optional=schema.optional)
        if column.is_arrow:
            return Column.from_arrow(convert_column(column.arrow(), schema, self._moments), made)
        return map_rows(column, made, lambda value, _: self._moments.convert(value, schema))


def _transform(side: Side, config: TimestampConverterConfig) -> _TimestampConverter | Nested:
    if not (config.field and config.nested):
        return _TimestampConverter(side, config)
    moments = Moments(Form(config.target_type), config.format, config.unix_precision, this_year=datetime.now(UTC).year)

    def of(names: list[str]) -> FieldsTransform:
        return FieldsTransform(side, "converting timestamp formats", _OneField(config, moments, names[0]))

    return nested(side, [config.field], of)


def key(config: TimestampConverterConfig) -> _TimestampConverter | Nested:
    """Return the transform TimestampConverter$Key."""
    return _transform(Side.KEY, config)


def value(config: TimestampConverterConfig) -> _TimestampConverter | Nested:
    """Return the transform TimestampConverter$Value."""
    return _transform(Side.VALUE, config)
