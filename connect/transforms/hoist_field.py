"""Makes the whole key or value the only field of a struct or map, also if it is null (HoistField).

A tombstone that a sink reads has no schema in Java, so it becomes a map. Here it stands in a column with the rows that
were read with it, and is parted from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

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
        column = self.side.of(batch)
        schema = column.schema
        takes_nulls = batch.consumed is None or schema is None or schema.optional
        nulls = [] if takes_nulls else null_rows(column)
        if not nulls:
            return [self.side.put(batch, self._hoisted(column))]
        gone = frozenset(nulls)
        runs = groupby(range(len(batch)), gone.__contains__)
        return [self._run(batch, [*rows], is_null=is_null) for is_null, rows in runs]

    def _run(self, batch: Batch, rows: Sequence[int], *, is_null: bool) -> Batch:
        """Return the hoisted rows of a run, which are all null or all not."""
        part = batch if len(rows) == len(batch) else batch.slice(rows[0], rows[-1] + 1)
        column = Column.nulls(len(part)) if is_null else self.side.of(part)
        return self.side.put(part, self._hoisted(column))

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
