"""Makes the whole key or value the only field of a struct or map, also if it is null (HoistField)."""

from __future__ import annotations

from dataclasses import dataclass

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, struct
from connect.transforms.settings.config import HoistFieldConfig
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import unique


@dataclass(frozen=True, slots=True)
class _HoistField:
    side: Side
    name: str

    def apply(self, batch: Batch) -> list[Batch]:
        return [self.side.put(batch, self._hoisted(self.side.of(batch)))]

    def _hoisted(self, column: Column) -> Column:
        schema = column.schema
        if schema is None and column.is_whole:
            import pyarrow as pa

            return Column.whole(pa.StructArray.from_arrays([column.arrow()], names=[self.name]))
        if schema is None:
            return Column.from_rows([{self.name: row} for row in column.rows()], None)
        made = struct(unique([Field(self.name, schema)]))
        self._check_nulls(column, schema)
        if not column.is_arrow:
            return Column.from_rows([{self.name: row} for row in column.rows()], made)
        import pyarrow as pa

        array = column.arrow()
        field = pa.field(self.name, array.type, schema.optional)
        return Column.from_arrow(pa.StructArray.from_arrays([array], fields=[field]), made)

    def _check_nulls(self, column: Column, schema: Schema) -> None:
        nulls = [] if schema.optional else null_rows(column)
        if nulls:
            kind = f'"{self.name}", schema type: {schema.type.upper()}'
            error = SchemaError(f"Invalid value: null used for required field: {kind}")
            raise RejectedRowsError(dict.fromkeys(nulls, error))


def key(config: HoistFieldConfig) -> _HoistField:
    """Return the transform HoistField$Key."""
    return _HoistField(Side.KEY, config.field)


def value(config: HoistFieldConfig) -> _HoistField:
    """Return the transform HoistField$Value."""
    return _HoistField(Side.VALUE, config.field)
