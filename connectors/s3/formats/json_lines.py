"""Values as lines of JSON, in the forms of `connect.api.values.json_forms`: whole columns at a time where they say all.

Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.records import Column
from connect.api.values.json_forms import JsonForms, json_of_rows, own_texts

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN: Final = frozenset({
    s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64,
    s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BOOLEAN, s.Type.STRING,
})  # fmt: skip


def json_lines(values: Column, *, numeric_decimals: bool) -> pa.Array:
    """Return one JSON text per row as large_binary, null where the value is null."""
    schema = values.schema
    if schema is None:
        own = own_texts(values)
        if own is not None:
            return own
        if values.is_arrow and (_is_whole(values) or _says_all(values.arrow())):
            return _vectorised(values.arrow())
    if schema is not None and _is_flat(schema) and values.is_arrow and _is_finite(values.arrow()):
        return _vectorised(values.arrow())
    # Nested values with a schema go row by row, and schemaless ones where a row may lack a field.
    return json_of_rows(values.rows(), schema, JsonForms(numeric_decimals=numeric_decimals))


def _is_whole(values: Column) -> bool:
    import pyarrow as pa

    return values.is_whole and pa.types.is_struct(values.arrow().type)


def _says_all(array: pa.Array) -> bool:
    """Return True if the columns of schemaless rows say all that the rows hold.

    A null may be a field that is not there, and a fraction without one may be a whole number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if not t.is_struct(array.type) or not array.type.num_fields or array.null_count:
        return False
    for column in pa.RecordBatch.from_struct_array(array).columns:
        kind = column.type
        if column.null_count or not (
            t.is_integer(kind) or t.is_string(kind) or t.is_boolean(kind) or t.is_float64(kind)
        ):
            return False
        if (
            t.is_float64(kind)
            and not pc.all(pc.and_(pc.is_finite(column), pc.not_equal(pc.floor(column), column))).as_py()
        ):
            return False
    return True


def _is_flat(schema: s.Schema) -> bool:
    if schema.type is not s.Type.STRUCT or not schema.fields:
        return False
    return all(f.schema.type in _PLAIN and f.schema.name != s.RECURSIVE for f in schema.fields)


def _is_finite(array: pa.Array) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    floats = (array.field(i) for i in range(array.type.num_fields) if pa.types.is_floating(array.type.field(i).type))
    return all(pc.all(pc.is_finite(column)).as_py() is not False for column in floats)


def _vectorised(array: pa.Array) -> pa.Array:
    """Return the JSON of columns that hold whole rows.

    Polars does this, as nothing else writes these bytes for its price (docs/decisions/045).
    """
    import polars as pl
    import pyarrow as pa

    table = pa.RecordBatch.from_struct_array(array)
    columns = [_as_number(column) for column in table.columns]
    frame = pl.DataFrame(pl.from_arrow(pa.record_batch(columns, names=table.schema.names)))
    lines = frame.select(pl.struct(pl.all()).struct.json_encode()).to_series().to_arrow().cast(pa.large_binary())
    if array.null_count == 0:
        return lines
    import pyarrow.compute as pc

    return pc.if_else(array.is_valid(), lines, pa.scalar(None, pa.large_binary()))


def _as_number(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_date32(column.type) or t.is_time32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if t.is_timestamp(column.type) else column
