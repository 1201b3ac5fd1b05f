"""Writes rows to Firebird by the driver's own statements, with values of Python's types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.sink.statements import SinkStatements, StatementRows, Type, quoted
from connectors.jdbc.sink.texts import moments_us, text_of
from connectors.jdbc.values.types import Raw

if TYPE_CHECKING:
    from connectors.jdbc.sink.target_tables import Target, TargetColumn

_MOMENTS = frozenset({Raw.DATE, Raw.TIME, Raw.WALL_CLOCK, Raw.INSTANT})


class FirebirdStatements(SinkStatements):
    """Inserts and changes rows of Firebird."""

    types: ClassVar[Mapping[str, Type]] = {
        s.DATE: sa.DATE(), s.TIME: sa.TIME(), s.TIMESTAMP: sa.TIMESTAMP(),
        s.Type.INT8: sa.SMALLINT(), s.Type.INT16: sa.SMALLINT(), s.Type.INT32: sa.INTEGER(), s.Type.INT64: sa.BIGINT(),
        s.Type.FLOAT32: sa.FLOAT(), s.Type.FLOAT64: sa.DOUBLE_PRECISION(), s.Type.BOOLEAN: sa.BOOLEAN(),
        **dict.fromkeys((s.Type.STRING, s.Type.ARRAY, s.Type.MAP, s.Type.STRUCT), sa.TEXT()),
        s.Type.BYTES: sa.BLOB(),
    }  # fmt: skip
    key_types: ClassVar[Mapping[str, Type]] = {s.Type.STRING: sa.VARCHAR(252), s.Type.BYTES: sa.VARBINARY(1000)}
    """A key of Firebird's smallest page has at most about a thousand bytes."""
    timestamp = sa.TIMESTAMP()

    @property
    def sql(self) -> sa.Dialect:
        """Return SQLAlchemy's dialect."""
        from connectors.jdbc.dialects.firebird.engine_dialect import FirebirdEngineDialect

        made: sa.Dialect = FirebirdEngineDialect()
        return made

    def type_of(self, schema: s.Schema) -> Any:
        """Return the type of a new column. A Decimal gets as many digits as release 3 allows."""
        return sa.DECIMAL(18, schema.decimal_scale) if schema.name == s.DECIMAL else super().type_of(schema)

    def cells(self, array: pa.Array, schema: s.Schema, column: TargetColumn) -> pa.Array:
        """Return moments as Arrow's dates and times, numbers, booleans and bytes unchanged, other values as texts."""
        if pa.types.is_floating(array.type) and len(array.drop_null()) and not pc.all(pc.is_finite(array)).as_py():
            raise SchemaError("NaN and the infinities are no numbers here.", field=column.name)
        moments = moments_us(array, schema, column.raw) if column.raw in _MOMENTS else None
        if moments is None:
            return _plain(text_of(array, schema, column.raw, self.zones), column.raw)
        texts = text_of(array, schema, column.raw, self.zones)
        if column.raw is Raw.DATE:
            return texts.cast(pa.date32())
        if column.raw is Raw.TIME:
            return pc.binary_join_element_wise("1970-01-01T", texts, "").cast(pa.timestamp("us")).cast(pa.time64("us"))
        walls = texts.cast(pa.timestamp("us"))
        return walls.cast(pa.timestamp("us", "UTC")) if column.raw is Raw.INSTANT else walls

    def folds(self, column: TargetColumn) -> bool:
        """Return True for texts: blanks at the end never count, and a collation may take more texts for one."""
        return column.raw is Raw.TEXT

    def upsert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Insert the rows, or change those that have the same key (UPDATE OR INSERT); the key needs no index."""
        names, mark = rows.columns.column_names, '"'
        listed = ", ".join(quoted(mark, name) for name in names)
        found_by = ", ".join(quoted(mark, name) for name in rows.keys)
        statement = (
            f"UPDATE OR INSERT INTO {quoted(mark, *target.name)} ({listed}) "  # noqa: S608 - names are quoted
            f"VALUES ({', '.join('?' * len(names))}) MATCHING ({found_by})"
        )
        records = [tuple(record.values()) for record in rows.columns.to_pylist()]
        connection.exec_driver_sql(statement, records)


def _plain(texts: pa.Array, raw: Raw) -> pa.Array:
    if raw is Raw.BOOLEAN:
        return pc.equal(texts, "1") if not pa.types.is_boolean(texts.type) else texts
    return texts
