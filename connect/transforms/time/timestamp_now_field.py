"""Inserts the present time as fields (TimestampNowField of kafka-connect-transform-common).

If a batch is held as columns, all of its rows get the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.records import Batch
from connect.api.schema import Field, Schema
from connect.transforms.settings.transform_common_config import TimestampNowFieldConfig
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import constant, rebuilt

if TYPE_CHECKING:
    import pyarrow as pa


class _NowFields:
    """Rebuilds structs and maps with the present time in some fields."""

    def __init__(self, config: TimestampNowFieldConfig) -> None:
        self._names = config.fields
        self._added = config.added
        self._is_unix = config.target_type == "Unix"
        self._made = s.INT64 if self._is_unix else s.TIMESTAMP_SCHEMA

    def schema_of(self, schema: Schema) -> Schema:
        """Return the schema with the fields. An existing field of another type is removed, and the new one comes at the
        end.
        """
        kept = [f for f in schema.fields if f.name not in self._names or self._fits(f.schema)]
        there = {field.name for field in kept}
        new = [Field(name, self._made) for name in dict.fromkeys(self._names) if name not in there]
        return rebuilt(schema, (*kept, *new)).as_optional(schema.optional)

    def columns(self, array: pa.StructArray, schema: Schema, made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        now = self._now()
        return [
            constant(now, field.schema, len(array))
            if field.name in self._names
            else array.field(schema.field_index[field.name])
            for field in made.fields
        ]

    def struct_row(
        self, row: Mapping[str, Any], _schema: Schema, made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        now = self._now()
        return {f.name: now if f.name in self._names else row.get(f.name) for f in made.fields}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {**row, **dict.fromkeys(self._names, self._now())}

    def _fits(self, schema: Schema) -> bool:
        return schema.type is self._made.type and (self._is_unix or schema.name == self._made.name)

    def _now(self) -> datetime | int:
        moment = datetime.now(UTC) + self._added
        if self._is_unix:
            return int(moment.timestamp())
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _transform(side: Side, config: TimestampNowFieldConfig) -> FieldsTransform:
    return FieldsTransform(side, "setting the present time", _NowFields(config))


def key(config: TimestampNowFieldConfig) -> FieldsTransform:
    """Return the transform TimestampNowField$Key."""
    return _transform(Side.KEY, config)


def value(config: TimestampNowFieldConfig) -> FieldsTransform:
    """Return the transform TimestampNowField$Value."""
    return _transform(Side.VALUE, config)
