"""ValueToKey: fields of the value become the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema, struct
from connect.transforms.config import ValueToKeyConfig
from connect.transforms.fields import FieldsTransform
from connect.transforms.sides import Side
from connect.transforms.structs import column_of, unique, value_of

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

    def _field(self, schema: Schema, name: str) -> Field:
        found = schema.field(name)
        if found is None:
            raise SchemaError(f"Field does not exist: {name}")
        return Field(name, found)


class ValueToKey:
    """Keeps the value as it is."""

    def __init__(self, config: ValueToKeyConfig) -> None:
        purpose = "copying fields from value to key"
        self._keys = FieldsTransform(Side.VALUE, purpose, _Picked(config), nulls=False)

    def apply(self, batch: Batch) -> list[Batch]:
        """The batch with its new keys."""
        (picked,) = self._keys.apply(batch)
        return [replace(batch, keys=picked.values)]
