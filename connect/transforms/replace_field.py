"""ReplaceField: drops and renames fields. On Arrow it moves columns and touches no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema
from connect.transforms.config import ReplaceFieldConfig
from connect.transforms.fields import FieldsTransform
from connect.transforms.sides import Side
from connect.transforms.structs import column_of, rebuilt, value_of

if TYPE_CHECKING:
    import pyarrow as pa


class _ReplaceField:
    def __init__(self, config: ReplaceFieldConfig) -> None:
        self._exclude = frozenset(config.exclude)
        self._include = frozenset(config.include)
        self._names = config.new_names
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return rebuilt(schema, (Field(self._named(f.name), f.schema) for f in self._kept(schema)))

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [column_of(array, schema, field, default=self._default) for field in self._kept(schema)]

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {self._named(f.name): value_of(row, f, default=self._default) for f in self._kept(schema)}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        for name in row:
            if not isinstance(name, str):
                raise SchemaError(
                    f"Field names must be texts; a map has the key {name!r} of type {type(name).__name__}."
                )
        return {self._named(name): value for name, value in row.items() if self._keeps(name)}

    def _kept(self, schema: Schema) -> list[Field]:
        return [field for field in schema.fields if self._keeps(field.name)]

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _named(self, name: str) -> str:
        return self._names.get(name, name)


def _transform(side: Side, config: ReplaceFieldConfig) -> FieldsTransform:
    return FieldsTransform(side, "field replacement", _ReplaceField(config))


def key(config: ReplaceFieldConfig) -> FieldsTransform:
    """ReplaceField$Key."""
    return _transform(Side.KEY, config)


def value(config: ReplaceFieldConfig) -> FieldsTransform:
    """ReplaceField$Value."""
    return _transform(Side.VALUE, config)
