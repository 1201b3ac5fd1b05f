"""Makes the columns with a record's key and coordinates that the Java connector's settings name. Pure.

Source: KafkaDataBuilder and SchemaManager of the WePay connector 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.records import Batch
from connectors.bigquery.rows.paths import Found, Path, Root, find, schema_of
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema
from connectors.bigquery.rows.types import TypeRules, column_of

if TYPE_CHECKING:
    import pyarrow as pa

_COORDINATES: Final = {"topic": Root.TOPIC, "partition": Root.PARTITION, "offset": Root.OFFSET}
_COORDINATES_SCHEMA: Final = s.struct(
    {"topic": s.STRING, "partition": s.INT64, "offset": s.INT64, "insertTime": s.TIMESTAMP_SCHEMA}, optional=True
)


@dataclass(frozen=True, slots=True)
class Extras:
    """Holds the names of the columns for key and coordinates (kafkaKeyFieldName, kafkaDataFieldName); empty: none."""

    key_column: str = ""
    coordinates_column: str = ""

    def columns(self, batch: Batch, types: TypeRules) -> Columns:
        """Return the extra columns that a batch needs; no key column where no record has a key."""
        found: list[ColumnSchema] = []
        types = replace(types, nullable=True)
        if self.key_column and has_keys(batch):
            assert batch.keys is not None
            found.append(column_of(self.key_column, schema_of(batch.keys), types, self.key_column))
        if self.coordinates_column:
            found.append(column_of(self.coordinates_column, _COORDINATES_SCHEMA, types, self.coordinates_column))
        return tuple(found)

    def values(self, batch: Batch, now_ms: int) -> dict[str, Found]:
        """Return the values of these columns. `now_ms` is the time of arrival, in milliseconds since 1970."""
        found: dict[str, Found] = {}
        if self.key_column and has_keys(batch):
            assert batch.keys is not None
            found[self.key_column] = Found(batch.keys.arrow(), schema_of(batch.keys))
        if self.coordinates_column:
            found[self.coordinates_column] = Found(_coordinates(batch, now_ms), _COORDINATES_SCHEMA)
        return found


def has_keys(batch: Batch) -> bool:
    """Return True if a record of the batch has a key."""
    return batch.keys is not None and batch.keys.arrow().null_count < len(batch)


def _coordinates(batch: Batch, now_ms: int) -> pa.StructArray:
    import pyarrow as pa

    arrays = [find(batch, Path(root)).values for root in _COORDINATES.values()]
    now = pa.repeat(pa.scalar(now_ms, pa.timestamp("ms", "UTC")), len(batch))
    return pa.StructArray.from_arrays([*arrays, now], names=[f.name for f in _COORDINATES_SCHEMA.fields])
