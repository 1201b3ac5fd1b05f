"""Writes rows to MariaDB and MySQL by one text of VALUES, which Arrow puts together by the column.

LOAD DATA LOCAL is not used: the client would have to let the server ask for any of its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.dialects import mysql as my

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.sink.statements import NUMBER, SinkStatements, StatementRows, Type, numbered, quoted, same_rows
from connectors.jdbc.sink.texts import text_of
from connectors.jdbc.values.types import Raw

if TYPE_CHECKING:
    from connectors.jdbc.sink.target_tables import Target, TargetColumn

_MOST_BYTES: Final = 8 << 20
"""A statement has about this many bytes at most, unless one row is larger. Servers take 16 MiB by default."""


class MySqlStatements(SinkStatements):
    """Inserts and changes rows of MariaDB and MySQL by PyMySQL."""

    types: ClassVar[Mapping[str, Type]] = {
        s.DATE: sa.DATE(),
        s.TIME: my.TIME(fsp=3), s.TIMESTAMP: my.DATETIME(fsp=3),
        s.Type.INT8: my.TINYINT(), s.Type.INT16: my.SMALLINT(),
        s.Type.INT32: my.INTEGER(), s.Type.INT64: my.BIGINT(), s.Type.FLOAT32: my.FLOAT(),
        s.Type.FLOAT64: my.DOUBLE(), s.Type.BOOLEAN: my.TINYINT(),
        s.Type.STRING: my.LONGTEXT(), s.Type.BYTES: my.LONGBLOB(), s.Type.MAP: my.JSON(),
        s.Type.STRUCT: my.JSON(), s.Type.ARRAY: my.JSON(),
    }  # fmt: skip
    key_types: ClassVar[Mapping[str, Type]] = {s.Type.STRING: my.VARCHAR(255), s.Type.BYTES: my.VARBINARY(255)}
    timestamp = my.TIMESTAMP(fsp=6)
    sql = my.dialect()

    def type_of(self, schema: s.Schema) -> Any:
        """Return the type of a new column. A Decimal gets as many digits as the server allows."""
        return my.DECIMAL(65, schema.decimal_scale) if schema.name == s.DECIMAL else super().type_of(schema)

    def default(self, value: object, kind: Any) -> sa.TextClause:
        """Return the default in parentheses: that makes it an expression, as a column of texts takes no literal."""
        return sa.text(f"({super().default(value, kind).text})")

    def cells(self, array: pa.Array, schema: s.Schema, column: TargetColumn) -> pa.Array:
        """Return a column's values as texts, as bytes, or as integers for a column of bits."""
        if pa.types.is_floating(array.type) and not pc.all(pc.is_finite(array)).as_py() and len(array.drop_null()):
            raise SchemaError("NaN and the infinities are no numbers here.", field=column.name)
        if schema.type is s.Type.BYTES and isinstance(column.type, sa.types.NullType):
            return array.cast(pa.binary())  # a column of geometries
        texts = text_of(array, schema, column.raw, self.zones)
        is_number = pa.types.is_integer(array.type) or pa.types.is_boolean(array.type)
        return array.cast(pa.int64()) if is_number and isinstance(column.type, my.BIT) else texts

    def insert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Write the rows in one statement, or in a few where the texts are long."""
        self._write(connection, target, rows, "")

    def upsert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Write the rows in one statement, or in a few where the texts are long."""
        names = [quoted("`", name) for name in rows.values or rows.keys]
        changes = ", ".join(f"{name}=VALUES({name})" for name in names)
        self._write(connection, target, rows, f" ON DUPLICATE KEY UPDATE {changes}")

    def empty(self, connection: sa.Connection, target: Target) -> None:
        """Truncate the table, which commits the transaction."""
        connection.exec_driver_sql(f"TRUNCATE TABLE {quoted('`', *target.name)}")

    def folds(self, column: TargetColumn) -> bool:
        """Return True for texts, as a collation says which of them are one."""
        return column.raw is Raw.TEXT

    def there(self, connection: sa.Connection, target: Target, columns: pa.Table) -> set[int]:
        """Return the places of the given rows that the target has, found by a temporary table.

        Texts are compared byte by byte, as the server may take texts that differ in case for equal.
        """
        stage = "connect_compared"
        listed = ", ".join(quoted("`", name) for name in columns.column_names)
        connection.exec_driver_sql(f"DROP TEMPORARY TABLE IF EXISTS {stage}")
        connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {stage} AS SELECT {listed}, 0 AS {NUMBER} "  # noqa: S608 - names are quoted
            f"FROM {quoted('`', *target.name)} WHERE 1 = 0"
        )
        self._write(connection, replace(target, name=TableName(None, stage)), numbered(columns), "")
        found = {
            number
            for statement in same_rows(target, stage, columns, mark="`", text="CAST({} AS BINARY)", equal="<=>")
            for (number,) in connection.exec_driver_sql(statement)
        }
        connection.exec_driver_sql(f"DROP TEMPORARY TABLE {stage}")
        return found

    def _write(self, connection: sa.Connection, target: Target, rows: StatementRows, end: str) -> None:
        if rows.columns.nbytes > _MOST_BYTES and len(rows.columns) > 1:
            for part in rows.parts(-(-len(rows.columns) // 2)):
                self._write(connection, target, part, end)
            return
        listed = ", ".join(quoted("`", name) for name in rows.columns.column_names)
        begin = f"INSERT INTO {quoted('`', *target.name)} ({listed}) VALUES "  # noqa: S608 - names are quoted
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor:
            cursor.execute(begin.encode() + _values(rows.columns) + end.encode())


def _values(columns: pa.Table) -> bytes:
    literals = [_literals(column.combine_chunks()) for column in columns.columns]
    rows = pc.binary_join_element_wise(*literals, pa.scalar(b",")) if len(literals) > 1 else literals[0]
    rows = pc.binary_join_element_wise(pa.scalar(b"("), rows, pa.scalar(b")"), pa.scalar(b""))
    whole: bytes = pc.binary_join(pa.ListArray.from_arrays([0, len(rows)], rows), b",")[0].as_py()
    return whole


def _literals(cells: pa.Array) -> pa.Array:
    """Return the SQL literals for texts and bytes, themselves as bytes; null becomes NULL."""
    if pa.types.is_integer(cells.type):
        return pc.fill_null(cells.cast(pa.string()).cast(pa.binary()), b"NULL")
    mark = b"_binary'" if pa.types.is_binary(cells.type) else b"'"
    plain = cells.cast(pa.binary())
    escaped = pc.replace_substring(pc.replace_substring(plain, b"\\", b"\\\\"), b"'", b"\\'")
    return pc.fill_null(
        pc.binary_join_element_wise(pa.scalar(mark), escaped, pa.scalar(b"'"), pa.scalar(b"")), pa.scalar(b"NULL")
    )
