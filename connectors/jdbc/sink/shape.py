"""Decides which parts of a batch go into which columns, by the schemas of its keys and values. Pure.

The rules are those of Confluent's FieldsMetadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import connect_schema
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.time_types import TIME_TYPES

if TYPE_CHECKING:
    from connectors.jdbc.sink.settings.config import JdbcSinkConfig

_KAFKA_SCHEMAS = (s.STRING, s.INT32, s.INT64)
_KAFKA_PARTS = ("topic", "partition", "offset")


class RecordPart(Enum):
    """Names the part of a record that has a column's values."""

    KEY = "key"
    WHOLE_KEY = "whole key"
    VALUE = "value"
    PLACE = "place"
    """The part is the record's topic, partition or offset."""


@dataclass(frozen=True, slots=True)
class Member:
    """Describes a column that the table needs: its name, its schema, and the field of `part` that has its values."""

    name: str
    schema: s.Schema
    part: RecordPart
    field: str
    is_key: bool = False
    is_timestamp: bool = False
    """True if the field is one of timestamp.fields.list."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Holds the columns of rows of one schema, in the order in which a table is made."""

    keys: Sequence[Member]
    values: Sequence[Member]

    @property
    def members(self) -> Sequence[Member]:
        """Return all columns."""
        return [*self.keys, *self.values]


def schema_of(column: Column) -> s.Schema:
    """Return a column's schema; values without one get the schema that holds them. SchemaError: no schema holds
    them.
    """
    return column.schema or connect_schema(column.arrow().type)


def shape_of(config: JdbcSinkConfig, batch: Batch) -> Shape:
    """Return the columns of a batch's rows. SchemaError: the records lack the key that pk.mode wants, or are no
    structs.
    """
    value = schema_of(batch.values)
    if value.type is not s.Type.STRUCT and batch.values.arrow().null_count < len(batch):
        raise SchemaError(
            f"The value is of type {value.type}, and a row of a table is a struct.",
            fix="Use a converter that reads records, or the transform HoistField.",
        )
    fields = {f.name: _timed(config, f) for f in value.fields}
    keys = list(_keys(config, batch, fields))
    wanted = set(config.fields_whitelist)
    key_names = {member.name for member in keys}
    values = [
        Member(name, schema, RecordPart.VALUE, name, is_timestamp=schema != value.field(name))
        for name, schema in fields.items()
        if name not in key_names and (not wanted or name in wanted)
    ]
    if not keys and not values:
        raise SchemaError("The record has no field for a row.", key="fields.whitelist")
    return Shape(keys, values)


def _timed(config: JdbcSinkConfig, field: s.Field) -> s.Schema:
    """Return the schema of a field. A field of timestamp.fields.list gets one of Debezium's types of timestamps."""
    schema = field.schema
    if field.name not in config.timestamp_fields or schema.name is not None:
        return schema
    number = "MicroTimestamp" if config.timestamp_precision == "microseconds" else "NanoTimestamp"
    kinds = {s.Type.INT64: number, s.Type.STRING: "IsoTimestamp"}
    if schema.type not in kinds:
        raise SchemaError(
            f"It is of type {schema.type}, and a timestamp is an int64 or a string.", field=field.name,
            key="timestamp.fields.list",
        )  # fmt: skip
    return replace(schema, name=TIME_TYPES[kinds[schema.type]].name)


def _keys(config: JdbcSinkConfig, batch: Batch, fields: Mapping[str, s.Schema]) -> Iterator[Member]:
    match config.pk_mode:
        case "kafka":
            for name, schema, part in zip(config.key_columns, _KAFKA_SCHEMAS, _KAFKA_PARTS, strict=True):
                yield Member(name, schema, RecordPart.PLACE, part, is_key=True)
        case "record_value":
            yield from _fields_of(config, fields, RecordPart.VALUE)
        case "record_key":
            yield from _record_key(config, batch.keys)


def _record_key(config: JdbcSinkConfig, keys: Column | None) -> Iterator[Member]:
    schema = None if keys is None else schema_of(keys)
    if keys is None or schema is None or keys.arrow().null_count == len(keys):
        raise SchemaError("The record has no key, which pk.mode=record_key needs.", key="pk.mode")
    if schema.type is s.Type.STRUCT:
        yield from _fields_of(config, {f.name: f.schema for f in schema.fields}, RecordPart.KEY)
        return
    if schema.type in {s.Type.ARRAY, s.Type.MAP}:
        raise SchemaError(f"The key is of type {schema.type}, and must be a struct or a single value.", key="pk.mode")
    if len(config.pk_fields) != 1:
        raise SchemaError(
            f"The key is of type {schema.type}, so pk.fields must have the one name of its column; it has "
            f"{len(config.pk_fields)}.", key="pk.fields",
        )  # fmt: skip
    yield Member(config.pk_fields[0], schema, RecordPart.WHOLE_KEY, "", is_key=True)


def _fields_of(config: JdbcSinkConfig, fields: Mapping[str, s.Schema], part: RecordPart) -> Iterator[Member]:
    missing = [name for name in config.pk_fields if name not in fields]
    if missing:
        raise SchemaError(f"The record's {part.value} has no field {', '.join(missing)} of pk.fields.", key="pk.fields")
    for name in config.pk_fields or fields:
        yield Member(name, fields[name], part, name, is_key=True)


def written_fields(config: JdbcSinkConfig) -> frozenset[str] | None:
    """Return the only fields of values that may go into columns, or None if all do."""
    if not config.fields_whitelist or (config.pk_mode == "record_value" and not config.pk_fields):
        return None
    return frozenset({*config.fields_whitelist, *config.pk_fields})


def array_of(batch: Batch, member: Member) -> pa.Array:
    """Return the values of a column, one per row."""
    match member.part:
        case RecordPart.VALUE:
            return _field(batch.values.arrow(), member.field)
        case RecordPart.KEY | RecordPart.WHOLE_KEY:
            assert batch.keys is not None
            keys = batch.keys.arrow()
            return keys if member.part is RecordPart.WHOLE_KEY else _field(keys, member.field)
    assert batch.consumed is not None
    if member.field == "offset":
        return batch.consumed.offsets
    if member.field == "partition":
        return pa.repeat(pa.scalar(batch.consumed.topic_partition.partition, pa.int32()), len(batch))
    return pa.repeat(pa.scalar(batch.topic, pa.string()), len(batch))


def _field(rows: pa.StructArray, name: str) -> pa.Array:
    return pc.struct_field(rows, rows.type.get_field_index(name))
