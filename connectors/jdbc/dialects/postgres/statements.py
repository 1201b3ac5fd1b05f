"""Writes rows to PostgreSQL by COPY: into the table, or into a temporary table from which a statement takes them."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pyarrow import csv
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.sql.elements import quoted_name

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.sink.statements import NUMBER, SinkStatements, StatementRows, Type, numbered, quoted, same_rows
from connectors.jdbc.sink.texts import text_of

if TYPE_CHECKING:
    from connectors.jdbc.sink.target_tables import Target, TargetColumn

_CSV: Final = csv.WriteOptions(include_header=False, quoting_style="all_valid")
_ELEMENTS: Final = frozenset({
    s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64, s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BOOLEAN,
    s.Type.STRING,
})  # fmt: skip


class PostgresStatements(SinkStatements):
    """Inserts and changes rows of PostgreSQL by psycopg."""

    types: ClassVar[Mapping[str, Type]] = {
        s.DECIMAL: sa.NUMERIC(), s.DATE: sa.DATE(), s.TIME: pg.TIME(),
        s.TIMESTAMP: pg.TIMESTAMP(), s.Type.INT8: sa.SMALLINT(),
        s.Type.INT16: sa.SMALLINT(), s.Type.INT32: sa.INTEGER(),
        s.Type.INT64: sa.BIGINT(), s.Type.FLOAT32: sa.REAL(),
        s.Type.FLOAT64: sa.DOUBLE_PRECISION(), s.Type.BOOLEAN: sa.BOOLEAN(),
        s.Type.STRING: sa.TEXT(), s.Type.BYTES: pg.BYTEA(), s.Type.MAP: pg.JSON(),
        s.Type.STRUCT: pg.JSON(),
    }  # fmt: skip
    timestamp = pg.TIMESTAMP()
    sql = pg.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's own

    def type_of(self, schema: s.Schema) -> Type:
        """Return the type of a new column: PostgreSQL's own array for single values, JSON for any other array."""
        if schema.type is not s.Type.ARRAY:
            return super().type_of(schema)
        items = schema.items
        assert items is not None
        return pg.ARRAY(self.types[items.type]) if items.type in _ELEMENTS and items.name is None else pg.JSON()

    def cells(self, array: pa.Array, schema: s.Schema, column: TargetColumn) -> pa.Array:
        """Return a column's values as the texts that COPY reads; null stays null."""
        if isinstance(column.type, pg.ARRAY) and schema.type is s.Type.ARRAY:
            return _array_text(array, schema)
        texts = text_of(array, schema, column.raw, self.zones)
        if not pa.types.is_binary(texts.type):
            return texts
        hexed = pa.array([None if value is None else value.hex() for value in texts.to_pylist()], pa.string())
        return pc.binary_join_element_wise(pa.scalar("\\x"), hexed, "")

    def insert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Insert the rows by COPY; into a view by way of the temporary table."""
        if target.is_view:
            names = rows.columns.column_names
            staged = self._staged(connection, target, rows)
            connection.execute(sa.insert(target.relation).from_select(names, sa.select(*staged.c)))
            return
        _copy(connection, target.name.quoted, rows)

    def empty(self, connection: sa.Connection, target: Target) -> None:
        """Truncate the table."""
        connection.exec_driver_sql(f"TRUNCATE TABLE {target.name.quoted}")

    def folds(self, column: TargetColumn) -> bool:
        """Return True for CITEXT, and for CHAR, of which blanks at the end do not count."""
        return isinstance(column.type, pg.CITEXT | sa.CHAR)

    def upsert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Insert the rows from the temporary table, and change those that the target has already."""
        staged = self._staged(connection, target, rows)
        statement = pg.insert(target.relation).from_select(rows.columns.column_names, sa.select(*staged.c))
        changes = {name: statement.excluded[name] for name in rows.values}
        if changes:
            connection.execute(statement.on_conflict_do_update(index_elements=rows.keys, set_=changes))
        else:
            connection.execute(statement.on_conflict_do_nothing(index_elements=rows.keys))

    def update(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Change the target's rows by those of the temporary table that have the same key."""
        if rows.values:
            staged = self._staged(connection, target, rows)
            changes = {name: staged.c[name] for name in rows.values}
            connection.execute(sa.update(target.relation).where(_same_key(target, staged, rows)).values(changes))

    def delete(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Delete the rows whose keys are in the temporary table."""
        staged = self._staged(connection, target, rows)
        connection.execute(sa.delete(target.relation).where(_same_key(target, staged, rows)))

    def there(self, connection: sa.Connection, target: Target, columns: pa.Table) -> set[int]:
        """Return the places of the given rows that the target has, found by a temporary table.

        Values are compared as texts, as every type can be cast to a text.
        """
        stage, names = "connect_compared", columns.column_names
        with _driver(connection).cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE {stage} ON COMMIT DROP AS "  # noqa: S608 - quoted
                f"SELECT {_listed(names)}, 0::bigint AS {NUMBER} FROM {target.name.quoted} WITH NO DATA"
            )
            _copy(connection, f"pg_temp.{stage}", numbered(columns))
            found = set()
            for statement in same_rows(
                target, f"pg_temp.{stage}", columns, mark='"', text="{}::text", equal="IS NOT DISTINCT FROM"
            ):
                found |= {number for (number,) in cursor.execute(statement).fetchall()}
            cursor.execute(f"DROP TABLE pg_temp.{stage}")
        return found

    def _staged(self, connection: sa.Connection, target: Target, rows: StatementRows) -> sa.TableClause:
        """Put the rows into a temporary table with the target's columns, which lasts as long as the session.

        It has all columns, whichever the rows have: each commit empties all such tables, so there must be few of them.
        """
        names, every = rows.columns.column_names, [*target.columns]
        told = repr([(name, str(target.columns[name].type)) for name in every])
        stage = f"connect_rows_{zlib.crc32((target.name.quoted + told).encode()):08x}"
        with _driver(connection).cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage} ON COMMIT DELETE ROWS AS "  # noqa: S608 - quoted
                f"SELECT {_listed(every)} FROM {target.name.quoted} WITH NO DATA"
            )
            cursor.execute(f"DELETE FROM pg_temp.{stage}")  # noqa: S608 - a name of ours
        _copy(connection, f"pg_temp.{stage}", rows)
        return sa.table(stage, *(sa.column(quoted_name(name, quote=True)) for name in names), schema="pg_temp")


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted('"', name) for name in names)


def _copy(connection: sa.Connection, table: str, rows: StatementRows) -> None:
    text = io.BytesIO()
    csv.write_csv(rows.columns, text, _CSV)
    statement = f"COPY {table} ({_listed(rows.columns.column_names)}) FROM STDIN (FORMAT csv)"
    with _driver(connection).cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(text.getbuffer())


def _same_key(target: Target, staged: sa.TableClause, rows: StatementRows) -> sa.ColumnElement[bool]:
    return sa.and_(*(target.relation.c[name] == staged.c[name] for name in rows.keys))


def _array_text(array: pa.Array, schema: s.Schema) -> pa.Array:
    items = schema.items
    assert items is not None
    if items.type not in _ELEMENTS:
        raise SchemaError(f"An array of {items.type} is no array of PostgreSQL.", fix="Make it a column of JSON.")
    texts = array.flatten().cast(pa.string())
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    quoted = pc.fill_null(pc.binary_join_element_wise(pa.scalar('"'), escaped, pa.scalar('"'), ""), "NULL")
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    ends = lengths.cumsum()
    offsets = pa.array([0, *ends.tolist()], pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, quoted), ",")
    whole = pc.binary_join_element_wise(pa.scalar("{"), joined, pa.scalar("}"), "")
    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), whole)
