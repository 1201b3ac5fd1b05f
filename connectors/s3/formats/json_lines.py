"""Values as lines of JSON, in the forms of Kafka's JsonConverter without schemas. Pure.

Forms after org.apache.kafka.connect.json.JsonConverter of Kafka 4.1: Date is days, Time and Timestamp are milliseconds,
bytes are base64, a Decimal is base64 of its unscaled bytes or a number, maps with text keys are objects and all others
arrays of pairs; a float that is no number is text.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import orjson

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH_DATE: Final = date(1970, 1, 1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN: Final = frozenset({
    s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64,
    s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BOOLEAN, s.Type.STRING,
})  # fmt: skip

_ROWS_OF_A_PART: Final = 1000

ToJson = Callable[[Any], Any]


def json_lines(values: Column, *, numeric_decimals: bool) -> pa.Array:
    """Return one JSON text per row as large_binary, null where the value is null."""
    schema = values.schema
    if schema is None:
        own = _own_texts(values)
        if own is not None:
            return own
        if values.is_arrow and (_is_whole(values) or _says_all(values.arrow())):
            return _vectorised(values.arrow())
    if schema is not None and _is_flat(schema) and values.is_arrow and _is_finite(values.arrow()):
        return _vectorised(values.arrow())
    convert = None if schema is None else _converter(schema, numeric_decimals=numeric_decimals)
    # Nested values with a schema go row by row, and schemaless ones where a row may lack a field.
    return _by_rows(values.rows(), convert)


def _own_texts(values: Column) -> pa.Array | None:
    """Return the text that schemaless values were read from; None if there is none, or the values were changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.json_texts()
    if texts is None:
        return None
    array = values.arrow()
    if array.null_count > texts.null_count:  # the JSON null
        texts = pc.if_else(array.is_valid(), texts, pa.scalar(None, texts.type))
    return texts.cast(pa.large_binary())


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


def _by_rows(rows: Sequence[Any], convert: ToJson | None) -> pa.Array:
    """Convert a part of the rows at a time, as each row's text is a Python object until its part is done."""
    import pyarrow as pa

    parts = []
    for start in range(0, max(1, len(rows)), _ROWS_OF_A_PART):
        part = rows[start : start + _ROWS_OF_A_PART]
        try:
            lines = [None if v is None else orjson.dumps(convert(v) if convert else v) for v in part]
        except orjson.JSONEncodeError:
            # orjson refuses integers beyond 64 bits, which JSON allows.
            lines = [None if v is None else _dumps(convert(v) if convert else v) for v in part]
        parts.append(pa.array(lines, pa.large_binary()))
    return pa.concat_arrays(parts)


def _dumps(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"A value has no JSON form: {error}") from error


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


def _converter(schema: s.Schema, *, numeric_decimals: bool) -> ToJson:
    logical = _logical(schema, numeric_decimals=numeric_decimals)
    if logical is not None:
        return _nullable(logical)
    match schema.type:
        case s.Type.BYTES:
            return _nullable(lambda v: base64.b64encode(v).decode())
        case s.Type.FLOAT32 | s.Type.FLOAT64:
            return _nullable(_number)
        case s.Type.ARRAY:
            assert schema.items is not None
            item = _converter(schema.items, numeric_decimals=numeric_decimals)
            return _nullable(lambda v: [item(x) for x in v])
        case s.Type.MAP:
            return _nullable(_map_converter(schema, numeric_decimals=numeric_decimals))
        case s.Type.STRUCT:
            fields = [(f.name, _converter(f.schema, numeric_decimals=numeric_decimals)) for f in schema.fields]
            return _nullable(lambda v: {name: convert(v.get(name)) for name, convert in fields})
    return lambda v: v


def _nullable(convert: ToJson) -> ToJson:
    return lambda v: None if v is None else convert(v)


def _logical(schema: s.Schema, *, numeric_decimals: bool) -> ToJson | None:
    match schema.name:
        case s.DATE:
            return lambda v: (v - _EPOCH_DATE).days
        case s.TIME:
            return _time_ms
        case s.TIMESTAMP:
            return _timestamp_ms
        case s.RECURSIVE:
            return orjson.Fragment
        case s.DECIMAL if numeric_decimals:
            return lambda v: orjson.Fragment(format(v, "f"))
        case s.DECIMAL:
            scale = schema.decimal_scale
            return lambda v: base64.b64encode(_unscaled(v, scale)).decode()
    return None


def _map_converter(schema: s.Schema, *, numeric_decimals: bool) -> ToJson:
    assert schema.items is not None
    assert schema.keys is not None
    item = _converter(schema.items, numeric_decimals=numeric_decimals)
    if schema.keys.type is s.Type.STRING and not schema.keys.optional:
        return lambda v: {name: item(x) for name, x in v.items()}
    name_of = _converter(schema.keys, numeric_decimals=numeric_decimals)
    return lambda v: [[name_of(name), item(x)] for name, x in v.items()]


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _time_ms(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _timestamp_ms(value: datetime) -> int:
    passed = value - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1000 + passed.microseconds // 1000


def _unscaled(value: Decimal, scale: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    shift = scale + exponent
    if shift < 0:
        raise SchemaError(f"Decimal {value} has more than {scale} digits after the point.")
    magnitude: int = int("".join(map(str, digits))) * 10**shift
    number = -magnitude if sign else magnitude
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
