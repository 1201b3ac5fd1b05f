"""Writes rows to SQLite one by one by Python's own driver, with dates and times in the form of Java's driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.sink.statements import SinkStatements, StatementRows, Type
from connectors.jdbc.sink.texts import moments_us, text_of
from connectors.jdbc.values.types import Raw

if TYPE_CHECKING:
    from connectors.jdbc.sink.target_tables import Target, TargetColumn

_AS_THEY_ARE = frozenset({
    s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64, s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BYTES,
})  # fmt: skip


class SqliteStatements(SinkStatements):
    """Inserts and changes rows of SQLite by Python's own driver."""

    types: ClassVar[Mapping[str, Type]] = {
        **dict.fromkeys((s.DECIMAL, s.DATE, s.TIME, s.TIMESTAMP), sa.NUMERIC()),
        **dict.fromkeys((s.Type.BOOLEAN, s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64), sa.INTEGER()),
        **dict.fromkeys((s.Type.FLOAT32, s.Type.FLOAT64), sa.REAL()),
        **dict.fromkeys((s.Type.STRING, s.Type.ARRAY, s.Type.MAP, s.Type.STRUCT), sa.TEXT()),
        s.Type.BYTES: sa.BLOB(),
    }
    timestamp = sa.NUMERIC()
    sql = sqlite.dialect()

    def cells(self, array: pa.Array, schema: s.Schema, column: TargetColumn) -> pa.Array:
        """Return moments as milliseconds since the epoch, numbers and bytes unchanged, and other values as texts."""
        if pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
            raise SchemaError("SQLite has no NaN.", field=column.name)
        if schema.name in {s.DATE, s.TIME, s.TIMESTAMP}:
            moments = moments_us(array, schema, Raw.WALL_CLOCK)
            return pc.divide(moments, 1000)
        if schema.type is s.Type.BOOLEAN:
            return array.cast(pa.int8())
        if schema.type in _AS_THEY_ARE and schema.name != s.DECIMAL:
            return array
        return text_of(array, schema, Raw.TEXT, self.zones)

    def folds(self, column: TargetColumn) -> bool:
        """Return True for texts, as a column may have the collation NOCASE or RTRIM."""
        return isinstance(column.type, sa.String)

    def upsert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Insert the rows, or change those that have the same key (INSERT … ON CONFLICT)."""
        statement = sqlite.insert(target.relation).values(rows.bound(rows.columns.column_names))
        changes = {name: statement.excluded[name] for name in rows.values}
        if changes:
            connection.execute(statement.on_conflict_do_update(index_elements=rows.keys, set_=changes), rows.records())
        else:
            connection.execute(statement.on_conflict_do_nothing(index_elements=rows.keys), rows.records())
