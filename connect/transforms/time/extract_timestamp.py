"""Makes the value of a field the record's timestamp (ExtractTimestamp of kafka-connect-transform-common)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Schema, Type
from connect.transforms.settings.transform_common_config import ExtractTimestampConfig
from connect.transforms.structure.fields import not_a_row
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import is_struct, masked_by

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PURPOSE = "timestamp extraction"


@dataclass(frozen=True, slots=True)
class _ExtractTimestamp:
    side: Side
    name: str

    def apply(self, batch: Batch) -> list[Batch]:
        column = self.side.of(batch)
        schema = column.schema
        nulls = null_rows(column)
        if nulls:
            raise RejectedRowsError(dict.fromkeys(nulls, not_a_row(None, schema, _PURPOSE)))
        times = self._of_maps(column) if schema is None else self._of_structs(column, schema)
        return [replace(batch, timestamps_ms=times)]

    def _of_structs(self, column: Column, schema: Schema) -> pa.Int64Array:
        import pyarrow as pa

        if not is_struct(schema):
            raise not_a_row(column.rows()[0], schema, _PURPOSE)
        found = schema.field(self.name)
        if found is None:
            raise SchemaError(f"Unknown field: {self.name}")
        if found.type is not Type.INT64:
            raise SchemaError(f"A field of type {found.type} is no timestamp.", field=self.name)
        array = column.arrow()
        times = masked_by(array.field(schema.field_index[self.name]), array)
        lacking = null_rows(Column.from_arrow(times, found))
        if lacking:
            raise RejectedRowsError(dict.fromkeys(lacking, self._null()))
        return times.cast(pa.int64())

    def _of_maps(self, column: Column) -> pa.Int64Array:
        import pyarrow as pa

        times: list[int] = []
        rejected: dict[int, Exception] = {}
        for i, row in enumerate(column.rows()):
            try:
                times.append(self._of_map(row))
            except SchemaError as error:
                rejected[i] = error
        if rejected:
            raise RejectedRowsError(rejected)
        return pa.array(times, pa.int64())

    def _of_map(self, row: Any) -> int:
        if not isinstance(row, Mapping):
            raise not_a_row(row, None, _PURPOSE)
        found = row.get(self.name)
        if found is None:
            raise self._null()
        if isinstance(found, datetime):
            return (found - _EPOCH) // timedelta(milliseconds=1)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        raise SchemaError(f"Cannot convert {class_name(found, None)} to timestamp.", field=self.name)

    def _null(self) -> SchemaError:
        return SchemaError(f"Field '{self.name}' cannot be null.")


def key(config: ExtractTimestampConfig) -> _ExtractTimestamp:
    """Return the transform ExtractTimestamp$Key."""
    return _ExtractTimestamp(Side.KEY, config.field)


def value(config: ExtractTimestampConfig) -> _ExtractTimestamp:
    """Return the transform ExtractTimestamp$Value."""
    return _ExtractTimestamp(Side.VALUE, config.field)
