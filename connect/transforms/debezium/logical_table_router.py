"""Routes the change events of several tables into one topic (io.debezium.transforms.ByLogicalTableRouter).

Schemas get names by the new topic, and keys a field that names the table. Source of the rules: Debezium 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema
from connect.transforms.routing import TopicPattern
from connect.transforms.settings.debezium_config import ByLogicalTableRouterConfig
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import PerSchema, constant, is_struct, unique

if TYPE_CHECKING:
    import pyarrow as pa

_ENVELOPE: Final = ".Envelope"
_PURPOSE: Final = "Updating schema"
_NOT_IN_AVRO = re.compile(r"^[^A-Za-z_]|[^A-Za-z0-9_.]")


@dataclass(frozen=True, slots=True)
class _Route:
    """Holds how the records of one topic change."""

    topic: str
    keys: FieldsTransform
    envelope_of: PerSchema[Schema]


class _TableKeys:
    """Rebuilds keys with another schema name and, if wanted, with a field that names the table."""

    def __init__(self, schema_name: str, added: Mapping[str, str]) -> None:
        self._name = schema_name
        self._added = added

    def schema_of(self, schema: Schema) -> Schema:
        """Return the schema of keys in the new topic."""
        added = (Field(name, s.STRING) for name in self._added)
        return replace(schema, name=self._name, fields=unique((*schema.fields, *added)), default=None)

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        kept = [array.field(schema.field_index[field.name]) for field in schema.fields]
        return [*kept, *(constant(value, s.STRING, len(array)) for value in self._added.values())]

    def struct_row(
        self, row: Mapping[str, Any], _schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {**row, **self._added}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> NoReturn:
        raise SchemaError(f"Only Struct objects supported for [{_PURPOSE}], found: {class_name(row, None)}")


class ByLogicalTableRouter:
    """Gives topics that match a pattern another name. It is owned by one task thread."""

    def __init__(self, config: ByLogicalTableRouterConfig) -> None:
        self._topics = TopicPattern(config.topic_regex, config.topic_replacement)
        self._field = config.key_field_name if config.has_key_field else None
        has_pattern = bool(config.key_field_regex.strip())
        self._tables = TopicPattern(config.key_field_regex, config.key_field_replacement) if has_pattern else None
        self._is_avro = config.adjustment == "avro"
        self._route = lru_cache(config.cache_size)(self._route_of)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch under its new topic; if its topic does not match, return it as it is."""
        route = self._route(batch.topic)
        if route is None:
            return [batch]
        (made,) = route.keys.apply(batch) if batch.keys is not None else (batch,)
        return [replace(made, topic=route.topic, values=_renamed(batch.values, route.envelope_of))]

    def _route_of(self, topic: str) -> _Route | None:
        # If a record's new topic would be empty, Debezium passes the record on unchanged.
        routed = self._topics.replaced(topic)
        if not routed:
            return None
        table = self._tables.replaced(topic) if self._tables is not None else None
        added = {} if self._field is None else {self._field: topic if table is None else table}
        keys = FieldsTransform(Side.KEY, _PURPOSE, _TableKeys(self._adjusted(f"{routed}.Key"), added))
        return _Route(routed, keys, PerSchema(lambda schema: self._envelope(schema, routed)))

    def _envelope(self, schema: Schema, topic: str) -> Schema:
        before = schema.field("before")
        if before is None:
            return schema
        row = replace(before, name=self._adjusted(f"{topic}.Value"), default=None)
        fields = [Field(f.name, row) if f.name in {"before", "after"} else f for f in schema.fields]
        return replace(schema, name=self._adjusted(topic + _ENVELOPE), fields=tuple(fields), default=None)

    def _adjusted(self, name: str) -> str:
        return _NOT_IN_AVRO.sub("_", name) if self._is_avro else name


def _renamed(column: Column, envelope_of: PerSchema[Schema]) -> Column:
    """Return the column with its new schema; a column that holds no change events stays as it is."""
    schema = column.schema
    if schema is None or not is_struct(schema) or not (schema.name or "").endswith(_ENVELOPE):
        return column
    made = envelope_of(schema)
    return Column.from_arrow(column.arrow(), made) if column.is_arrow else Column.from_rows(column.rows(), made)
