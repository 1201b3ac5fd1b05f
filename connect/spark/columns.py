"""Turns rows of a connector into columns of a Spark frame, and back.

Lossless, or a SchemaError that names the column. Pure.

| Arrow of a connector (`connect.api.arrow`) | Spark | Arrow of Spark |
| --- | --- | --- |
| int8 … int64, float, double, bool | byte … long, float, double, boolean | the same |
| string, binary (large ones too) | string, binary | string, binary |
| decimal of at most 38 digits | decimal | decimal128 |
| date32 | date | date32 |
| timestamp(ms, UTC) | timestamp | timestamp(us, UTC) |
| time32(ms) | time(6) | time64(ns) |
| list, map, struct | array, map, struct | list, map, struct |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from connect.api.arrow import arrow_type, connect_schema
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch, Column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

_DIGITS: Final = 38
"""Spark's decimals have at most so many digits."""
VALUE: Final = "value"
"""This is the name of the only column of rows that are no structs."""


def frame_type(values: pa.DataType) -> StructType:
    """Return the columns of a frame with rows of these values. SchemaError: Spark has no such type."""
    import pyarrow as pa
    from pyspark.sql.types import StructType

    fields = list(values) if pa.types.is_struct(values) else [pa.field(VALUE, values)]
    made = StructType()
    for field in fields:
        # Nullable throughout: what a connector promises of later rows is no promise that Spark could check.
        made = made.add(field.name, _spark_type(field.type, field.name), nullable=True)
    return made


def frame_schema(columns: StructType) -> pa.Schema:
    """Return the Arrow schema of a frame's rows, in both directions.

    Spark takes exactly this schema, with each column nullable as it is declared.
    """
    import pyarrow as pa

    return pa.schema([pa.field(f.name, _arrow_type(f.dataType), f.nullable) for f in columns.fields])


def frame_rows(batch: Batch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of a connector as rows of a frame.

    SchemaError: the batch has a column that the frame lacks, lacks one that the frame has, or has a value that does not
    fit. ConnectError: a row is a tombstone, which no frame can tell from a row of nulls.
    """
    import pyarrow as pa

    values = batch.values.arrow()
    if values.null_count and pa.types.is_struct(values.type):
        raise ConnectError(
            f"Topic {batch.topic} has {values.null_count} tombstones, and a row of a frame cannot be one.",
            fix="Have the connector write none (tombstones.on.delete=false), or read the topic from Kafka.",
        )
    found = batch.arrow()
    if set(found.schema.names) != set(schema.names):
        more = sorted(set(found.schema.names) - set(schema.names))
        less = sorted(set(schema.names) - set(found.schema.names))
        raise SchemaError(
            f"Topic {batch.topic} has other columns than the frame: more {more}, fewer {less}.",
            fix="Let the connector select one table; after a change of its columns read it anew.",
        )
    return pa.record_batch([_cast(found.column(f.name), f.type, f.name) for f in schema], schema=schema)


def connector_rows(rows: pa.RecordBatch) -> Column:
    """Return rows of a frame as values for a sink: structs, or the values of a frame's only column `value`.

    SchemaError: a column has no lossless type.
    """
    import pyarrow as pa

    arrays = [
        _cast(array, arrow_type(connect_schema(_millis(f.type, f.name), path=f.name)), f.name)
        for f, array in zip(rows.schema, rows.columns, strict=True)
    ]
    if rows.schema.names == [VALUE]:
        return Column.from_arrow(arrays[0])
    fields = [pa.field(f.name, a.type, f.nullable) for f, a in zip(rows.schema, arrays, strict=True)]
    return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=fields))


def keys_of(values: Column, names: Sequence[str]) -> Column | None:
    """Return keys made of the named columns of `values`; None if no column is named.

    SchemaError: a column is missing.
    """
    import pyarrow as pa

    if not names:
        return None
    array = values.arrow()
    known = [field.name for field in array.type] if pa.types.is_struct(array.type) else [VALUE]
    missing = [name for name in names if name not in known]
    if missing or not pa.types.is_struct(array.type):
        raise SchemaError(f"The frame has no columns {missing} for the key; it has {known}.", key="connect.key.columns")
    parts = [array.field(name) for name in names]
    fields = [array.type.field(name) for name in names]
    return Column.from_arrow(pa.StructArray.from_arrays(parts, fields=fields))


def _cast(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    import pyarrow as pa

    if array.type.equals(wanted):
        return array
    try:
        return array.cast(wanted)
    except pa.ArrowException as error:
        raise SchemaError(
            f"a value of type {array.type} does not fit {wanted}: {error}",
            field=name,
            fix="Cast the column first; times keep milliseconds, as by date_trunc('millisecond', column).",
        ) from error


def _spark_type(arrow: pa.DataType, path: str) -> DataType:
    import pyarrow as pa
    from pyspark.sql import types as t

    p = pa.types
    simple = {
        pa.bool_(): t.BooleanType(), pa.int8(): t.ByteType(), pa.int16(): t.ShortType(), pa.int32(): t.IntegerType(),
        pa.int64(): t.LongType(), pa.float32(): t.FloatType(), pa.float64(): t.DoubleType(), pa.date32(): t.DateType(),
        pa.string(): t.StringType(), pa.large_string(): t.StringType(), pa.null(): t.StringType(),
        pa.binary(): t.BinaryType(), pa.large_binary(): t.BinaryType(), pa.time32("ms"): t.TimeType(),
        pa.timestamp("ms", "UTC"): t.TimestampType(), pa.timestamp("us", "UTC"): t.TimestampType(),
    }  # fmt: skip
    if arrow in simple:
        return simple[arrow]
    if p.is_decimal(arrow) and arrow.precision <= _DIGITS and 0 <= arrow.scale <= arrow.precision:
        return t.DecimalType(arrow.precision, arrow.scale)
    if p.is_list(arrow) or p.is_large_list(arrow):
        return t.ArrayType(_spark_type(arrow.value_type, f"{path}[]"))
    if p.is_map(arrow):
        keys = _spark_type(arrow.key_type, f"{path}.key")
        return t.MapType(keys, _spark_type(arrow.item_type, f"{path}.value"))
    if p.is_struct(arrow):
        return t.StructType([t.StructField(f.name, _spark_type(f.type, f"{path}.{f.name}")) for f in arrow])
    raise SchemaError(f"Spark has no type for {arrow}.", field=path, fix="Leave the column out, or cast it.")


def _arrow_type(spark: DataType) -> pa.DataType:
    import pyarrow as pa
    from pyspark.sql import types as t

    simple: dict[type[DataType], pa.DataType] = {
        t.BooleanType: pa.bool_(), t.ByteType: pa.int8(), t.ShortType: pa.int16(), t.IntegerType: pa.int32(),
        t.LongType: pa.int64(), t.FloatType: pa.float32(), t.DoubleType: pa.float64(), t.DateType: pa.date32(),
        t.StringType: pa.string(), t.BinaryType: pa.binary(), t.TimestampType: pa.timestamp("us", "UTC"),
        t.TimeType: pa.time64("ns"),
    }  # fmt: skip
    match spark:
        case t.DecimalType():
            return pa.decimal128(spark.precision, spark.scale)
        case t.ArrayType():
            return pa.list_(pa.field("element", _arrow_type(spark.elementType), spark.containsNull))
        case t.MapType():
            values = pa.field("value", _arrow_type(spark.valueType), spark.valueContainsNull)
            return pa.map_(_arrow_type(spark.keyType), values)
        case t.StructType():
            return pa.struct(list(frame_schema(spark)))
    found = simple.get(type(spark))
    if found is None:
        raise SchemaError(f"No connector has rows of Spark's type {spark.simpleString()}.", fix="Choose another type.")
    return found


def _millis(arrow: pa.DataType, path: str) -> pa.DataType:
    """Return the type with all times in milliseconds, as Connect's own times are."""
    import pyarrow as pa

    p = pa.types
    if p.is_timestamp(arrow) and arrow.tz is None:
        raise SchemaError(
            "a timestamp without a time zone is no instant.",
            field=path,
            fix="Cast the column to TIMESTAMP, by the session's time zone.",
        )
    if p.is_timestamp(arrow):
        return pa.timestamp("ms", "UTC")
    if p.is_time(arrow):
        return pa.time32("ms")
    if p.is_list(arrow):
        return pa.list_(arrow.value_field.with_type(_millis(arrow.value_type, f"{path}[]")))
    if p.is_map(arrow):
        return pa.map_(arrow.key_type, arrow.item_field.with_type(_millis(arrow.item_type, f"{path}.value")))
    if p.is_struct(arrow):
        return pa.struct([f.with_type(_millis(f.type, f"{path}.{f.name}")) for f in arrow])
    return arrow
