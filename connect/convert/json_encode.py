"""Arrow columns to JSON texts, one per row, without a Python object per row.

Equal to `json_write` after parsing; the text differs only where JSON allows it (1e10 for 1.0E10, UTF-8 for escapes).
polars' `json_encode` writes the text; here the columns are brought into the types it writes without loss.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.columns import NotColumnarError, base64_of, list_of, struct_of, unscaled_of
from connect.convert.json_write import Writing

_WRAPPED = len('{"v":')


def encode_columns(array: pa.Array, schema: Schema, writing: Writing) -> pa.BinaryArray:
    """The JSON of every row, null for a null row. NotColumnarError: the row path must write this batch."""
    plain = _plain(array, schema, writing)
    wrapped = not pa.types.is_struct(plain.type)
    if wrapped:
        plain = pa.StructArray.from_arrays([plain], names=["v"])
    texts = pl.Series(pl.from_arrow(plain)).struct.json_encode().to_arrow().cast(pa.binary())
    if wrapped:
        texts = pc.binary_slice(texts, _WRAPPED, -1)
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.binary())) if array.null_count else texts


def _plain(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    match schema.name:
        case s.DECIMAL:
            return _decimal(array, schema, writing)
        case s.DATE:
            return _exact(array, pa.date32()).cast(pa.int32())
        case s.TIME:
            return _exact(array, pa.time32("ms")).cast(pa.int32())
        case s.TIMESTAMP:
            return _exact(array, pa.timestamp("ms", "UTC")).cast(pa.int64())
    match schema.type:
        case Type.STRUCT:
            return _struct(array, schema, writing)
        case Type.ARRAY:
            assert schema.items is not None
            items = array.flatten()
            _check_nulls(items, schema.items, 0, writing)
            values = _plain(items, schema.items, writing)
            return list_of(array, values, pa.field("item", values.type))
        case Type.MAP:
            raise NotColumnarError("map")
        case Type.BYTES:
            return base64_of(array)
        case Type.FLOAT32 | Type.FLOAT64:
            return _float(array, schema)
    return _exact(array, arrow_type(schema))


def _struct(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    if not schema.fields or array.type.num_fields != len(schema.fields):
        raise NotColumnarError("empty struct")
    if any("\x00" in field.name for field in schema.fields):
        raise NotColumnarError("the Arrow C interface ends a name at NUL")
    children = array.flatten()
    plain = []
    for child, field in zip(children, schema.fields, strict=True):
        _check_nulls(child, field.schema, array.null_count, writing)
        plain.append(_plain(child, field.schema, writing))
    fields = [pa.field(f.name, child.type) for f, child in zip(schema.fields, plain, strict=True)]
    return struct_of(array, plain, fields)


def _check_nulls(child: pa.Array, schema: Schema, parent_nulls: int, writing: Writing) -> None:
    """A null that means a default or an error is a matter for the row path."""
    has_default = schema.default is not None and writing.replace_null_with_default
    if (has_default or not schema.optional) and child.null_count > parent_nulls:
        raise NotColumnarError("null in a required field or one with a default")


def _exact(array: pa.Array, target: Any) -> pa.Array:
    if array.type.equals(target):
        return array
    try:
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"Arrow values of type {array.type} do not fit {target}: {error}") from error


def _float(array: pa.Array, schema: Schema) -> pa.Array:
    floats = _exact(array, arrow_type(schema))
    if pc.all(pc.is_finite(floats)).as_py() is False:
        raise NotColumnarError("NaN or Infinity, which are quoted")
    return floats


def _decimal(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    if writing.numeric_decimals:
        raise NotColumnarError("decimals as JSON numbers")
    return base64_of(unscaled_of(_exact(array, arrow_type(schema))))
