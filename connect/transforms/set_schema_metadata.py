"""Gives a struct's schema another name and version (SetSchemaMetadata). Values change only if nulls become defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.api.schema import Schema, Type
from connect.transforms.settings.config import SetSchemaMetadataConfig
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import column_of, value_of

if TYPE_CHECKING:
    import pyarrow as pa


class _Named:
    def __init__(self, config: SetSchemaMetadataConfig) -> None:
        self._name = config.schema_name
        self._version = config.schema_version
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        name = schema.name if self._name is None else self._name
        return replace(schema, name=name, version=schema.version if self._version is None else self._version)

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [column_of(array, schema, field, default=self._default) for field in schema.fields]

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {field.name: value_of(row, field, default=self._default) for field in schema.fields}

    def map_row(self, _row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        raise SchemaError("Schema required for [updating schema metadata]")


class _SetSchemaMetadata:
    def __init__(self, side: Side, config: SetSchemaMetadataConfig) -> None:
        self._side = side
        self._named = _Named(config)
        self._structs = FieldsTransform(side, "updating schema metadata", self._named)

    def apply(self, batch: Batch) -> list[Batch]:
        column = self._side.of(batch)
        schema = column.schema
        nulls = frozenset(null_rows(column))
        if schema is None:
            present = [i for i in range(len(column)) if i not in nulls]
            if present:
                error = SchemaError("Schema required for [updating schema metadata]")
                raise RejectedRowsError(dict.fromkeys(present, error))
            return [batch]
        if schema.type is not Type.STRUCT:
            # Kafka 4.1 asks every schema for its fields, which fails for schemas of other types.
            raise SchemaError("Cannot list fields on non-struct type")
        if len(nulls) == len(batch):
            renamed = type(column).nulls(len(batch), self._named.schema_of(schema))
            return [self._side.put(batch, renamed)]
        return self._structs.apply(batch)


def key(config: SetSchemaMetadataConfig) -> _SetSchemaMetadata:
    """Return the transform SetSchemaMetadata$Key."""
    return _SetSchemaMetadata(Side.KEY, config)


def value(config: SetSchemaMetadataConfig) -> _SetSchemaMetadata:
    """Return the transform SetSchemaMetadata$Value."""
    return _SetSchemaMetadata(Side.VALUE, config)
