"""Filters and computes with DuckDB's SQL over the columns of a batch. Rows keep their order, keys and headers.

DuckDB is used rather than polars, as it has maps, exact decimals and all of SQL. It may read no file and no network.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from connect.api.arrow import arrow_type, connect_schema
from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.extra_config import SqlConfig
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import is_struct, rebuilt, struct_array, unique

if TYPE_CHECKING:
    import pyarrow as pa

ROW: Final = "__connect_row"
TABLE: Final = "batch"


class _Sql:
    """Filters and computes with SQL. It is owned by one task thread, as is its database in memory."""

    def __init__(self, side: Side, config: SqlConfig) -> None:
        self._side = side
        where = f" WHERE ({config.where}\n)" if config.where else ""
        self._query = f"SELECT {config.select}\n, {ROW} FROM {TABLE}{where}"  # noqa: S608 - SQL is what is asked for

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the selected rows; null values stay as they are."""
        column = self._side.of(batch)
        if column.schema is not None and column.schema.type is not Type.STRUCT:
            raise SchemaError(
                f"Sql works on structs and maps, found: {column.schema.type}.", fix="Put HoistField before it."
            )
        array = column.arrow()
        import pyarrow as pa

        if not pa.types.is_struct(array.type):
            return [batch] if array.null_count == len(array) else self._refused(array.type)
        rows, columns = self._run(array)
        if not len(rows):
            return []
        made = self._made(rows, columns, array, column.schema)
        picked: list[int] = rows.to_pylist()
        is_whole = picked == list(range(len(batch)))  # it may leave a row out and make two of another one
        return [self._side.put(batch if is_whole else batch.take(picked), made)]

    def _refused(self, kind: pa.DataType) -> list[Batch]:
        raise SchemaError(f"Sql works on structs and maps, found: {kind}.", fix="Put HoistField before it.")

    def _run(self, array: pa.StructArray) -> tuple[pa.Array, pa.Table]:
        """Return the indices of the rows that the query selects, ascending, and their columns. Rows of a null value are
        kept.
        """
        import duckdb
        import pyarrow as pa
        import pyarrow.compute as pc

        every = pa.array(range(len(array)), pa.int64())
        present = every.filter(array.is_valid())
        flat = array.filter(array.is_valid()) if array.null_count else array
        # Moments are given as UTC without a zone, as DuckDB needs an extension for zones.
        columns = {
            field.name: child.cast(_plain(field.type, zone=None))
            for field, child in zip(array.type, flat.flatten(), strict=True)
        }
        self._database.register(TABLE, pa.table({**columns, ROW: present}))
        try:
            found = self._database.sql(self._query).to_arrow_table()
        except duckdb.Error as error:
            raise SchemaError(f"SQL failed: {str(error).partition(chr(10) * 2)[0]}", key="select") from error
        finally:
            self._database.unregister(TABLE)
        order = found.column(found.num_columns - 1)
        result = found.select([i for i, name in enumerate(found.column_names) if not name.startswith(ROW)])
        if len(order) > 1 and not pc.all(pc.less(order[:-1], order[1:])).as_py():
            by_row = pc.sort_indices(order)
            order, result = order.take(by_row), result.take(by_row)
        kept = order.combine_chunks() if isinstance(order, pa.ChunkedArray) else order
        if not array.null_count:
            return kept, result
        nulls = every.filter(array.is_null())
        rows = pa.concat_arrays([kept, nulls])
        by_row = pc.sort_indices(rows)
        places = pa.array([*range(len(kept)), *[None] * len(nulls)], pa.int64()).take(by_row)
        return rows.take(by_row), result.take(places)

    def _made(self, rows: pa.Array, columns: pa.Table, array: pa.StructArray, schema: Schema | None) -> Column:
        fields: list[Field] = []
        arrays: list[pa.Array] = []
        for name, column in zip(columns.column_names, columns.columns, strict=True):
            before = schema.field(name) if is_struct(schema) and schema is not None else None
            field, made = _typed(name, column.combine_chunks(), before)
            fields.append(field)
            arrays.append(made)
        import pyarrow as pa

        base = schema if schema is not None else Schema(Type.STRUCT)
        whole = rebuilt(base, unique(fields)).as_optional(base.optional)
        like = array.take(rows)
        found = struct_array(
            [pa.concat_arrays(a.chunks) if isinstance(a, pa.ChunkedArray) else a for a in arrays], whole, like
        )
        if schema is None:
            return Column.from_rows(Column.from_arrow(found, whole.as_optional()).rows(), None)
        for field, made in zip(whole.fields, found.flatten(), strict=True):
            if not field.schema.optional and made.null_count > found.null_count:
                raise SchemaError(
                    "SQL gave a null for a required field.", field=field.name, fix="Give the expression another name."
                )
        return Column.from_arrow(found, whole)

    @cached_property
    def _database(self) -> Any:
        try:
            import duckdb
        except ImportError as error:
            raise ConfigError(
                "The transform Sql needs DuckDB.", key="type", fix="Run: pip install 'connect-for-kafka[sql]'"
            ) from error
        # DuckDB would download extensions during the work. Statements could read and write a folder for temporary
        # files, whatever else is forbidden to them.
        fixed: dict[str, str | int] = {"threads": 1, "autoinstall_known_extensions": "false", "temp_directory": ""}
        database = duckdb.connect(":memory:", config={**fixed, "autoload_known_extensions": "false"})
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        return database


def _typed(name: str, column: pa.Array, before: Schema | None) -> tuple[Field, pa.Array]:
    """Return a column with the schema that it had before, if its Arrow type still is that schema's, or else with a
    schema that is derived from the type.
    """
    import pyarrow as pa

    if before is not None:
        wanted = arrow_type(before)
        try:
            if _kin(column.type, wanted):
                return Field(name, before), column.cast(wanted)
        except pa.ArrowInvalid as error:
            raise SchemaError(f"SQL's {column.type} does not fit {wanted}: {error}", field=name) from error
    plain = _plain(column.type)
    try:
        made = column.cast(plain)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"SQL's {column.type} has no lossless form: {error}", field=name) from error
    schema = connect_schema(plain, path=name)
    return Field(name, schema), made.cast(arrow_type(schema))


def _kin(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell if Connect treats two types as the same: DuckDB returns finer times than it was given."""
    same: bool = _plain(found) == _plain(wanted)
    return same


def _plain(kind: pa.DataType, zone: str | None = "UTC") -> pa.DataType:
    """Return the type with Connect's units of time and without differences that only Arrow knows, also inside of
    types.
    """
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_timestamp(kind):
        return pa.timestamp("ms", tz=zone)
    if t.is_time(kind):
        return pa.time32("ms")
    if t.is_map(kind):
        return pa.map_(_plain(kind.key_type, zone), pa.field("value", _plain(kind.item_type, zone)))
    if t.is_list(kind) or t.is_large_list(kind):
        return pa.list_(pa.field("item", _plain(kind.value_type, zone)))
    if t.is_struct(kind):
        return pa.struct([pa.field(f.name, _plain(f.type, zone)) for f in kind])
    if t.is_dictionary(kind):
        return _plain(kind.value_type, zone)
    if t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    if t.is_large_binary(kind) or t.is_binary_view(kind):
        return pa.binary()
    return kind


def key(config: SqlConfig) -> _Sql:
    """Return the transform Sql$Key."""
    return _Sql(Side.KEY, config)


def value(config: SqlConfig) -> _Sql:
    """Return the transform Sql$Value."""
    return _Sql(Side.VALUE, config)
