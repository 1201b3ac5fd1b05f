"""Inserts topic, partition, offset, timestamp and a fixed text as fields (InsertField)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema
from connect.transforms.settings.config import InsertFieldConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.nested import Nested, Path
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import column_of, members, rebuilt, value_of

if TYPE_CHECKING:
    import pyarrow as pa

_PURPOSE = "field insertion"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SOURCE_RECORD = "org.apache.kafka.connect.source.SourceRecord"


@dataclass(frozen=True, slots=True)
class _Inserted:
    """Holds a field to insert and where its value comes from."""

    origin: str
    field: Field


class _InsertField:
    def __init__(self, config: InsertFieldConfig) -> None:
        static = config.static_field if config.static_value is not None else None
        named = (
            ("topic", config.topic_field, s.STRING),
            ("partition", config.partition_field, s.INT32),
            ("offset", config.offset_field, s.INT64),
            ("timestamp", config.timestamp_field, s.TIMESTAMP_SCHEMA),
            ("static", static, s.STRING),
        )
        self._inserted = [_Inserted(origin, _field(name, schema)) for origin, name, schema in named if name is not None]
        self._needs_offset = config.offset_field is not None
        self._static = config.static_value
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return rebuilt(schema, (*schema.fields, *(inserted.field for inserted in self._inserted)))

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, batch: Batch) -> Sequence[pa.Array]:
        self._check(batch)
        kept = [column_of(array, schema, field, default=self._default) for field in schema.fields]
        return [*kept, *(self._column(inserted, batch) for inserted in self._inserted)]

    def struct_row(self, row: Mapping[str, Any], schema: Schema, _made: Schema, batch: Batch, i: int) -> dict[str, Any]:
        self._check(batch)
        kept = {field.name: value_of(row, field, default=self._default) for field in schema.fields}
        for inserted in self._inserted:
            found = self._value(inserted.origin, batch, i)
            is_moment = inserted.origin == "timestamp" and found is not None
            kept[inserted.field.name] = _EPOCH + timedelta(milliseconds=found) if is_moment else found
        return kept

    def map_row(self, row: Mapping[Any, Any], batch: Batch, i: int) -> dict[Any, Any]:
        self._check(batch)
        found = {inserted.field.name: self._value(inserted.origin, batch, i) for inserted in self._inserted}
        return {**row, **{name: value for name, value in found.items() if value is not None}}

    def map_columns(self, array: pa.StructArray, batch: Batch) -> dict[str, pa.Array] | None:
        self._check(batch)
        made = members(array)
        for inserted in self._inserted:
            column = self._plain_column(inserted.origin, batch)
            if column is not None and column.null_count:
                return None  # only some rows get this key
            if column is not None:
                made[inserted.field.name] = column
        return made

    def _plain_column(self, origin: str, batch: Batch) -> pa.Array | None:
        """Return each row's value as `map_row` gives it; None if no row gets one."""
        import pyarrow as pa

        if origin == "offset":
            return None if batch.consumed is None else batch.consumed.offsets
        if origin == "timestamp":
            return batch.timestamps_ms
        found = self._value(origin, batch, 0)
        return None if found is None else pa.repeat(pa.scalar(found), len(batch))

    def _check(self, batch: Batch) -> None:
        if self._needs_offset and batch.consumed is None:
            raise SchemaError(f"Only SinkRecord supported for [{_PURPOSE}], found: {_SOURCE_RECORD}")

    def _value(self, origin: str, batch: Batch, i: int) -> Any:
        match origin:
            case "topic":
                return batch.topic
            case "partition":
                return batch.partition
            case "offset":
                return batch.consumed.offsets[i].as_py() if batch.consumed is not None else None
            case "timestamp":
                return batch.timestamps_ms[i].as_py() if batch.timestamps_ms is not None else None
        return self._static

    def _column(self, inserted: _Inserted, batch: Batch) -> pa.Array:
        import pyarrow as pa

        kind = arrow_type(inserted.field.schema)
        if inserted.origin == "offset" and batch.consumed is not None:
            return batch.consumed.offsets.cast(kind)
        if inserted.origin == "timestamp":
            times = batch.timestamps_ms
            return pa.nulls(len(batch), kind) if times is None else times.cast(kind)
        return pa.repeat(pa.scalar(self._value(inserted.origin, batch, 0), kind), len(batch))


def _field(name: str, schema: Schema) -> Field:
    """Return the field of a name, which may end in ! (required) or ? (optional, as is the default)."""
    bare = name[:-1] if name.endswith(("!", "?")) else name
    return Field(bare, schema.as_optional(not name.endswith("!")))


_NAMES = ("topic_field", "partition_field", "offset_field", "timestamp_field", "static_field")


def _transform(side: Side, config: InsertFieldConfig) -> FieldsTransform | Nested:
    if not config.nested:
        return FieldsTransform(side, _PURPOSE, _InsertField(config))
    groups: dict[Path, dict[str, str]] = {}
    for name in _NAMES:
        text: str | None = getattr(config, name)
        if text is not None:
            path = parse_path(text, "V2")
            groups.setdefault(path[:-1], {})[name] = path[-1]
    none = dict.fromkeys(_NAMES)
    parts = {parent: config.model_copy(update={**none, **own}) for parent, own in groups.items()}
    return Nested(side, {parent: FieldsTransform(side, _PURPOSE, _InsertField(part)) for parent, part in parts.items()})


def key(config: InsertFieldConfig) -> FieldsTransform | Nested:
    """Return the transform InsertField$Key."""
    return _transform(Side.KEY, config)


def value(config: InsertFieldConfig) -> FieldsTransform | Nested:
    """Return the transform InsertField$Value."""
    return _transform(Side.VALUE, config)
