"""Builds and reads structs: their schemas, Arrow columns and rows, and their defaults. All arrays are whole columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.schema import Field, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa


T = TypeVar("T")


def rebuilt(schema: Schema, fields: Iterable[Field]) -> Schema:
    """Return a struct schema with other fields, required and without a default.

    Its name, version, doc and parameters stay the same.
    """
    return replace(schema, fields=unique(fields), optional=False, default=None)


def unique(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields of one struct as a tuple.

    SchemaError, in the words of Java's SchemaBuilder: a name is empty or comes twice.
    """
    found: dict[str, Field] = {}
    for field in fields:
        if not field.name:
            raise SchemaError("fieldName cannot be null.")
        if field.name in found:
            raise SchemaError(f"Cannot create field because of field name duplication {field.name}")
        found[field.name] = field
    return tuple(found.values())


def value_of(row: Mapping[str, Any], field: Field, *, default: bool) -> Any:
    """Return a field's value. With `default` it is the default of the field's schema if the value is null."""
    value = row.get(field.name)
    return field.schema.default if value is None and default else value


def column_of(array: pa.StructArray, schema: Schema, field: Field, *, default: bool) -> pa.Array:
    """Return a field's column; with `default`, nulls are replaced by the default of its schema."""
    column = array.field(schema.field_index[field.name])
    return with_default(column, field.schema) if default else column


def with_default(column: pa.Array, schema: Schema) -> pa.Array:
    """Return the column with nulls replaced by the schema's default, if it has one."""
    if schema.default is None or not column.null_count:
        return column
    import pyarrow as pa
    import pyarrow.compute as pc

    default = pa.array([schema.default], column.type)
    if pa.types.is_nested(column.type):
        indices = pc.if_else(column.is_null(), len(column), pa.array(range(len(column)), pa.int64()))
        return pa.concat_arrays([column, default]).take(indices)
    return pc.fill_null(column, default[0])


def struct_array(columns: Sequence[pa.Array], schema: Schema, like: pa.Array) -> pa.StructArray:
    """Return a struct array of these columns that is null where `like` is null."""
    import pyarrow as pa

    fields = [pa.field(f.name, c.type, f.schema.optional) for f, c in zip(schema.fields, columns, strict=True)]
    if not fields:
        return pa.array([None if null else {} for null in like.is_null().to_pylist()], pa.struct([]))
    mask = like.is_null() if like.null_count else None
    return pa.StructArray.from_arrays(list(columns), fields=fields, mask=mask)


def members(array: pa.StructArray) -> dict[str, pa.Array]:
    """Return the columns of a struct array by name."""
    return {array.type.field(i).name: array.field(i) for i in range(array.type.num_fields)}


def plain_schema(column: pa.Array) -> Schema | None:
    """Return the schema of a column of JSON's scalar values; None for any other.

    These are whole numbers, fractions, booleans and texts.
    """
    import pyarrow as pa

    known = {pa.int64(): s.INT64, pa.float64(): s.FLOAT64, pa.bool_(): s.BOOLEAN, pa.utf8(): s.STRING}
    found = known.get(column.type)
    return None if found is None else found.as_optional()


def masked_by(column: pa.Array, parent: pa.Array) -> pa.Array:
    """Return the column with nulls where the parent is null."""
    if not parent.null_count:
        return column
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        indices = pc.if_else(parent.is_valid(), pa.array(range(len(column)), pa.int64()), None)
        return column.take(indices)
    return pc.if_else(parent.is_valid(), column, pa.scalar(None, column.type))


def constant(value: Any, schema: Schema, length: int) -> pa.Array:
    """Return an array that has the same value in every row."""
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, arrow_type(schema)), length)


class PerSchema(Generic[T]):
    """Keeps what was made of the last schema, as most batches of a topic have the same one.

    It is owned by one task thread.
    """

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._seen: Schema | None = None
        self._made: T | None = None

    def __call__(self, schema: Schema) -> T:
        if self._made is None or (schema is not self._seen and schema != self._seen):
            self._made = self._make(schema)
        self._seen = schema
        return self._made


def is_struct(schema: Schema | None) -> bool:
    """Tell if values of the schema are structs."""
    return schema is not None and schema.type is Type.STRUCT
