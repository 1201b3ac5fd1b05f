"""Arrow columns to JSON texts, one per row, without a Python object per row.

The bytes are those of `json_write`, but for numeric decimals. polars' `json_encode` writes the text; here the columns
are brought into the types it writes without loss, and what Java writes in another way is changed.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.columns import NotColumnarError, base64_of, list_of, struct_of, unscaled_of
from connect.convert.java_columns import PLAIN_MAX, PLAIN_MIN, java_escapes, java_numbers
from connect.convert.java_text import json_string
from connect.convert.json_write import Writing

_MOMENTS = {
    s.DATE: (pa.date32(), pa.int32()), s.TIME: (pa.time32("ms"), pa.int32()),
    s.TIMESTAMP: (pa.timestamp("ms", "UTC"), pa.int64()),
}  # fmt: skip
_WRAPPED = len('{"v":')


class _TextNeededError(Exception):
    """polars has no JSON for a part of this column; its text has to be put together."""


def encode_columns(array: pa.Array, schema: Schema, writing: Writing) -> pa.BinaryArray:
    """The JSON of every row, null for a null row. NotColumnarError: the row path must write this batch."""
    texts = java_escapes(_text(array, schema, writing).cast(pa.binary()))
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.binary())) if array.null_count else texts


def may_differ_from_java(schema: Schema | None) -> bool:
    """Whether Java may have written other bytes for the same JSON: decimals as numbers, values without a schema."""
    return schema is None or _has_decimals(schema)


def _has_decimals(schema: Schema) -> bool:
    inner = [f.schema for f in schema.fields] + [part for part in (schema.keys, schema.items) if part is not None]
    return schema.name == s.DECIMAL or any(map(_has_decimals, inner))


def _text(array: pa.Array, schema: Schema, writing: Writing) -> pa.StringArray:
    """The JSON of every value; a null is the text null."""
    try:
        return _plain_text(_plain(array, schema, writing))
    except _TextNeededError:
        pass
    match schema.type:
        case Type.STRUCT:
            text = _struct_text(array, schema, writing)
        case Type.ARRAY:
            text = _list_text(array, _text(*_items(array, schema, writing), writing), "[", "]")
        case Type.MAP:
            text = _map_text(array, schema, writing)
        case Type.FLOAT32 | Type.FLOAT64:
            text = _float_text(array, schema)
        case _:
            text = _exact(array, arrow_type(schema)).cast(pa.utf8())
    return pc.fill_null(pc.if_else(array.is_valid(), text, pa.scalar(None, pa.utf8())), "null")


def _plain_text(array: pa.Array) -> pa.StringArray:
    if pa.types.is_struct(array.type) and not array.null_count:
        return _json_encoded(array)
    return pc.utf8_slice_codeunits(_json_encoded(pa.StructArray.from_arrays([array], names=["v"])), _WRAPPED, -1)


def _json_encoded(array: pa.StructArray) -> pa.StringArray:
    import polars as pl

    return pl.Series(pl.from_arrow(array)).struct.json_encode().to_arrow().cast(pa.utf8())


def _joined(*parts: pa.StringArray | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*(pa.scalar(p) if isinstance(p, str) else p for p in parts), pa.scalar(""))


def _struct_text(array: pa.StructArray, schema: Schema, writing: Writing) -> pa.StringArray:
    """Neighbouring fields that polars writes go through it together."""
    if not schema.fields:
        return pa.repeat(pa.scalar("{}"), len(array))
    texts: list[pa.StringArray] = []
    together: dict[str, pa.Array] = {}
    for child, field in zip(array.flatten(), schema.fields, strict=True):
        _check_nulls(child, field.schema, array.null_count, writing)
        try:
            together[_writable(field.name)] = _plain(child, field.schema, writing)
        except _TextNeededError:
            texts += _members(together)
            together = {}
            texts.append(_joined(f"{json_string(field.name)}:", _text(child, field.schema, writing)))
    texts += _members(together)
    return _joined("{", pc.binary_join_element_wise(*texts, pa.scalar(",")), "}")


def _members(columns: dict[str, pa.Array]) -> list[pa.StringArray]:
    if not columns:
        return []
    struct = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return [pc.utf8_slice_codeunits(_json_encoded(struct), 1, -1)]


def _list_text(array: pa.Array, items: pa.StringArray, opening: str, closing: str) -> pa.StringArray:
    joined = pc.binary_join(list_of(array, items, pa.field("item", pa.utf8())), ",")
    return _joined(opening, joined, closing)


def _map_text(array: pa.MapArray, schema: Schema, writing: Writing) -> pa.StringArray:
    assert schema.keys is not None
    assert schema.items is not None
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    keys, items = entries.flatten().flatten()
    _check_nulls(items, schema.items, 0, writing)
    pairs = _text(keys, schema.keys, writing), _text(items, schema.items, writing)
    if schema.keys.type is Type.STRING:
        return _list_text(entries, _joined(pairs[0], ":", pairs[1]), "{", "}")
    return _list_text(entries, _joined("[", pairs[0], ",", pairs[1], "]"), "[", "]")


def _float_text(array: pa.Array, schema: Schema) -> pa.StringArray:
    floats = _exact(array, arrow_type(schema))
    finite = pc.is_finite(floats)
    infinite = pc.if_else(pc.greater(floats, 0), pa.scalar('"Infinity"'), pa.scalar('"-Infinity"'))
    special = pc.if_else(pc.is_nan(floats), pa.scalar('"NaN"'), infinite)
    numbers = pc.if_else(finite, floats, pa.scalar(None, floats.type))
    return pc.if_else(finite, java_numbers(_plain_text(numbers), numbers), special)


def _writable(name: str) -> str:
    """A field's name if it can go to polars: the Arrow C interface ends a name at NUL."""
    if "\x00" in name:
        raise _TextNeededError
    return name


def _plain(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    if schema.name in _MOMENTS:
        own, number = _MOMENTS[schema.name]
        return _exact(array, own).cast(number)
    if schema.name == s.DECIMAL:
        return _decimal(array, schema, writing)
    if schema.name == s.RECURSIVE and writing.embeds:
        raise _TextNeededError
    match schema.type:
        case Type.STRUCT:
            return _struct(array, schema, writing)
        case Type.ARRAY:
            values = _plain(*_items(array, schema, writing), writing)
            return list_of(array, values, pa.field("item", values.type))
        case Type.MAP:
            raise _TextNeededError
        case Type.BYTES:
            return base64_of(array)
        case Type.FLOAT32 | Type.FLOAT64:
            return _float(array, schema)
    return _exact(array, arrow_type(schema))


def _struct(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    if not schema.fields:
        raise _TextNeededError
    plain = []
    for child, field in zip(array.flatten(), schema.fields, strict=True):
        _check_nulls(child, field.schema, array.null_count, writing)
        plain.append(_plain(child, field.schema, writing))
    fields = [pa.field(_writable(f.name), child.type) for f, child in zip(schema.fields, plain, strict=True)]
    return struct_of(array, plain, fields)


def _items(array: pa.Array, schema: Schema, writing: Writing) -> tuple[pa.Array, Schema]:
    assert schema.items is not None
    items = array.flatten()
    _check_nulls(items, schema.items, 0, writing)
    return items, schema.items


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
    sizes = pc.abs(floats)
    plain = pc.or_(pc.equal(sizes, 0), pc.and_(pc.greater_equal(sizes, PLAIN_MIN), pc.less(sizes, PLAIN_MAX)))
    if pc.all(plain).as_py() is False:
        raise _TextNeededError
    return floats


def _decimal(array: pa.Array, schema: Schema, writing: Writing) -> pa.Array:
    if writing.numeric_decimals:
        raise _TextNeededError
    return base64_of(unscaled_of(_exact(array, arrow_type(schema))))
