"""Replaces the whole key or value by one of its fields, given by name or dotted path (ExtractField)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Schema, Type
from connect.transforms.settings.config import ExtractFieldConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import map_rows, not_a_row
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import masked_by, with_default

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class _ExtractField:
    side: Side
    text: str
    path: tuple[str, ...]
    default: bool

    def apply(self, batch: Batch) -> list[Batch]:
        column = self.side.of(batch)
        schema = column.schema
        if schema is None and (found := self._of_whole(column)) is not None:
            made = Column.whole(found)
        elif schema is None:
            made = map_rows(column, None, lambda row, _: self._of_map(row))
        elif schema.type is not Type.STRUCT and len(null_rows(column)) < len(column):
            made = map_rows(column, schema, lambda row, _: self._refused(row, schema))
        elif (found_schema := self._schema_unless_nulls(column, schema, is_read=batch.consumed is not None)) is None:
            made = Column.nulls(len(column))
        else:
            made = self._of_structs(column, schema, found_schema)
        return [self.side.put(batch, made)]

    def _schema_unless_nulls(self, column: Column, schema: Schema, *, is_read: bool) -> Schema | None:
        """Return the field's schema, or None if there is none, but all rows are null and were read from Kafka.

        Such a null has no schema in Java, so that nothing is missing there; rows beside it are rejected without it.
        """
        try:
            return self._schema_of(schema)
        except SchemaError as error:
            if not is_read:
                raise
            nulls = frozenset(null_rows(column))
            if bad := [row for row in range(len(column)) if row not in nulls]:
                raise RejectedRowsError(dict.fromkeys(bad, error)) from error
            return None

    def _refused(self, row: Any, schema: Schema) -> None:
        raise not_a_row(row, schema, "field extraction")

    def _of_map(self, row: Any) -> Any:
        self._check_path()
        purpose = "field extraction"
        for step in self.path:
            if row is None:
                return None
            if not isinstance(row, Mapping):
                raise not_a_row(row, None, purpose)
            row = row.get(step)
            purpose = "nested field access"
        return row

    def _of_whole(self, column: Column) -> pa.Array | None:
        """Return the field's column of schemaless maps; None if their columns do not tell it exactly.

        With None the caller reads the maps one by one, by `_of_map`.
        """
        import pyarrow as pa

        if not (column.is_whole and self.path):
            return None
        array = column.arrow()
        for step in self.path:
            if not pa.types.is_struct(array.type) or array.type.get_field_index(step) < 0:
                return None
            array = masked_by(array.field(step), array)
        return array

    def _of_structs(self, column: Column, schema: Schema, found: Schema) -> Column:
        if column.is_arrow:
            return Column.from_arrow(self._of_array(column.arrow(), schema), found)
        return map_rows(column, found, lambda row, _: self._of_struct(row, schema))

    def _schema_of(self, schema: Schema) -> Schema:
        self._check_path()
        found = schema
        for step in self.path:
            if found.type is not Type.STRUCT:
                raise SchemaError("Cannot look up fields on non-struct type")
            member = found.field(step)
            if member is None:
                raise SchemaError(f"Unknown field: {self.text}")
            found = member
        return found

    def _of_struct(self, row: Mapping[str, Any], schema: Schema) -> Any:
        value: Any = row
        for place, step in enumerate(self.path, start=1):
            field = schema.field(step)
            assert field is not None
            value = value.get(step)
            value = field.default if value is None and self._takes_default(place) else value
            if value is None:
                return None
            schema = field
        return value

    def _of_array(self, array: pa.Array, schema: Schema) -> pa.Array:
        for place, step in enumerate(self.path, start=1):
            field = schema.field(step)
            assert field is not None
            child = array.field(schema.field_index[step])
            array = masked_by(with_default(child, field) if self._takes_default(place) else child, array)
            schema = field
        return array

    def _check_path(self) -> None:
        if not self.path:
            raise SchemaError("An empty field.path names no field.", fix="Name a field in `field`.")

    def _takes_default(self, place: int) -> bool:
        """Tell if a null at this step of the path becomes the default of its schema.

        For parents it does whatever the setting says, as in Java.
        """
        return self.default or place < len(self.path)


def extract(column: Column, text: str, version: str, *, default: bool) -> Column:
    """Return the column at a path inside of another one. SchemaError: there is none."""
    found = _ExtractField(Side.VALUE, text, parse_path(text, version), default)
    (made,) = found.apply(Batch("", column))
    return made.values


def _transform(side: Side, config: ExtractFieldConfig) -> _ExtractField:
    return _ExtractField(side, config.field, parse_path(config.field, config.syntax_version), config.replace_null)


def key(config: ExtractFieldConfig) -> _ExtractField:
    """Return the transform ExtractField$Key."""
    return _transform(Side.KEY, config)


def value(config: ExtractFieldConfig) -> _ExtractField:
    """Return the transform ExtractField$Value."""
    return _transform(Side.VALUE, config)
