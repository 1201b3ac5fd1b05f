"""Maps Connect types to Arrow types and back by one table. Lossless, or a SchemaError that names the field.

| Connect                        | Arrow                                    |
| ------------------------------ | ---------------------------------------- |
| int8 … int64, float32, float64 | the same                                 |
| boolean, string, bytes         | bool_, utf8, binary                      |
| Decimal(scale)                 | decimal128(p, scale), decimal256 above 38 |
| Date, Time, Timestamp          | date32, time32(ms), timestamp(ms, UTC)   |
| io.debezium.time.*             | int32, int64 or utf8, see `time_types`   |
| array, map, struct             | list, map, struct                        |

Arrow has no place for a schema's name, version or doc. So the `Column` keeps the Connect schema beside the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.time_types import TimePrecision, encoded_times, schema_of_times, time_type

if TYPE_CHECKING:
    import pyarrow as pa

DECIMAL_PRECISION_DEFAULT = 38
_ALIASES = {
    s.Type.BOOLEAN: "bool",
    s.Type.STRING: "string",
    s.Type.BYTES: "binary",
    s.Type.FLOAT32: "float",
    s.Type.FLOAT64: "double",
    s.Type.INT8: "int8",
    s.Type.INT16: "int16",
    s.Type.INT32: "int32",
    s.Type.INT64: "int64",
}


def arrow_type(schema: s.Schema, path: str = "") -> pa.DataType:
    """Return the Arrow type of a Connect schema. Raise SchemaError, which names the field, when a Decimal has an
    unusable scale."""
    import pyarrow as pa

    match schema.name:
        case s.DECIMAL:
            return _decimal_type(schema, path)
        case s.DATE:
            return pa.date32()
        case s.TIME:
            return pa.time32("ms")
        case s.TIMESTAMP:
            return pa.timestamp("ms", tz="UTC")
    match schema.type:
        case s.Type.ARRAY:
            return pa.list_(_arrow_field("item", _items(schema), path))
        case s.Type.MAP:
            keys = arrow_type(_keys(schema), f"{path}.key")
            return pa.map_(keys, _arrow_field("value", _items(schema), path))
        case s.Type.STRUCT:
            return pa.struct([_arrow_field(f.name, f.schema, path) for f in schema.fields])
    return pa.type_for_alias(_ALIASES[schema.type])


def arrow_schema(schema: s.Schema) -> pa.Schema:
    """Return the Arrow schema of a struct's fields, in order. Any other type becomes one column named `value`."""
    import pyarrow as pa

    fields = schema.fields if schema.type is s.Type.STRUCT else (s.Field("value", schema),)
    return pa.schema([_arrow_field(f.name, f.schema, "") for f in fields])


def connect_schema(
    arrow: pa.DataType, *, optional: bool = True, path: str = "", times: TimePrecision = TimePrecision.CONNECT
) -> s.Schema:
    """Return the Connect schema that holds every value of an Arrow type.

    Unsigned integers widen (uint64 becomes Decimal(0)). `times` says what dates and times become, in structs too.
    SchemaError: a value would lose something. That holds for durations and unions, and with TimePrecision.CONNECT for
    times finer than milliseconds.
    """
    import pyarrow.types as t

    base = schema_of_times(arrow, times) or _simple_schema(arrow)
    if base is None and t.is_decimal(arrow):
        base = s.decimal(arrow.scale, precision=arrow.precision)
    if base is None and (t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow)):
        base = s.array(connect_schema(arrow.value_type, optional=arrow.value_field.nullable, path=f"{path}[]"))
    if base is None and t.is_map(arrow):
        keys = connect_schema(arrow.key_type, optional=False, path=f"{path}.key")
        base = s.map_of(keys, connect_schema(arrow.item_type, optional=arrow.item_field.nullable, path=f"{path}.value"))
    if base is None and t.is_struct(arrow):
        fields = (arrow.field(i) for i in range(arrow.num_fields))
        base = s.struct(
            {
                f.name: connect_schema(f.type, optional=f.nullable, path=f"{path}.{f.name}".lstrip("."), times=times)
                for f in fields
            }
        )
    if base is None and t.is_dictionary(arrow):
        base = connect_schema(arrow.value_type, optional=optional, path=path)
    if base is None:
        fix = "Cast it first."
        if t.is_temporal(arrow) and not t.is_duration(arrow):
            fix = "Cast it first, or have it become one of Debezium's types of times (time.precision.mode=adaptive)."
        raise SchemaError(f"Arrow type {arrow} has no lossless Connect type.", field=path, fix=fix)
    return base.as_optional(optional)


def with_times(array: pa.Array, schema: s.Schema) -> pa.Array:
    """Return the array with its dates and times in the form of `connect_schema(array.type, times=...)`, in structs
    too."""
    import pyarrow as pa

    if time_type(schema.name) is not None:
        return encoded_times(array, schema)
    if not pa.types.is_struct(array.type):
        return array
    children = [with_times(child, f.schema) for child, f in zip(array.flatten(), schema.fields, strict=True)]
    fields = [pa.field(f.name, c.type, f.nullable) for f, c in zip(array.type, children, strict=True)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _simple_schema(arrow: pa.DataType) -> s.Schema | None:
    import pyarrow as pa

    simple = {
        pa.int8(): s.INT8, pa.int16(): s.INT16, pa.int32(): s.INT32, pa.int64(): s.INT64,
        pa.uint8(): s.INT16, pa.uint16(): s.INT32, pa.uint32(): s.INT64, pa.uint64(): s.decimal(0, precision=20),
        pa.float16(): s.FLOAT32, pa.float32(): s.FLOAT32, pa.float64(): s.FLOAT64, pa.bool_(): s.BOOLEAN,
        pa.utf8(): s.STRING, pa.large_utf8(): s.STRING, pa.string_view(): s.STRING, pa.null(): s.STRING,
        pa.binary(): s.BYTES, pa.large_binary(): s.BYTES, pa.binary_view(): s.BYTES,
        pa.date32(): s.DATE_SCHEMA, pa.time32("s"): s.TIME_SCHEMA, pa.time32("ms"): s.TIME_SCHEMA,
        pa.timestamp("s"): s.TIMESTAMP_SCHEMA, pa.timestamp("ms"): s.TIMESTAMP_SCHEMA,
    }  # fmt: skip
    if pa.types.is_timestamp(arrow) and arrow.unit in {"s", "ms"}:
        return s.TIMESTAMP_SCHEMA
    if pa.types.is_fixed_size_binary(arrow):
        return s.BYTES
    return simple.get(arrow)


def _decimal_type(schema: s.Schema, path: str) -> pa.DataType:
    import pyarrow as pa

    try:
        scale = schema.decimal_scale
        precision = int(schema.parameters.get(s.PRECISION_PARAMETER, DECIMAL_PRECISION_DEFAULT))
        # Arrow looks powers of ten up in a table with an entry for each digit that a decimal can have. A scale beyond
        # them, also below zero, makes it read other memory. So the precision covers the scale, and Arrow refuses a too
        # large one.
        precision = max(precision, abs(scale), 1)
        return (
            pa.decimal128(precision, scale)
            if precision <= DECIMAL_PRECISION_DEFAULT
            else pa.decimal256(precision, scale)
        )
    except (ValueError, OverflowError, pa.ArrowInvalid) as error:
        raise SchemaError(f"Decimal with parameters {dict(schema.parameters)}: {error}", field=path) from error


def _arrow_field(name: str, schema: s.Schema, path: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, arrow_type(schema, f"{path}.{name}".lstrip(".")), nullable=schema.optional)


def _items(schema: s.Schema) -> s.Schema:
    assert schema.items is not None
    return schema.items


def _keys(schema: s.Schema) -> s.Schema:
    assert schema.keys is not None
    return schema.keys
