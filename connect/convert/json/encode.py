"""Writes Arrow columns as JSON texts, one per row, with Python objects only for strings that need escapes.

The bytes are those of `connect.convert.json.write`. It is used without native code, or for types that that leaves out.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.json.java_columns import java_numbers
from connect.convert.json.java_text import json_string
from connect.convert.json.write import Writing
from connect.convert.plain.columns import NotColumnarError, base64_of, list_of, unscaled_of

_MOMENTS = {
    s.DATE: (pa.date32(), pa.int32()), s.TIME: (pa.time32("ms"), pa.int32()),
    s.TIMESTAMP: (pa.timestamp("ms", "UTC"), pa.int64()),
}  # fmt: skip
_ESCAPED: Final = r'["\\\x00-\x1f\x{10000}-\x{10ffff}]'
"""Matches the characters that a JSON string escapes."""


def encode_columns(array: pa.Array, schema: Schema, writing: Writing) -> pa.BinaryArray:
    """Return the JSON of every row, null for a null row. NotColumnarError: the row path must write this batch."""
    texts = _text(array, schema, writing).cast(pa.binary())
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.binary())) if array.null_count else texts


def may_differ_from_java(schema: Schema | None) -> bool:
    """Tell if Java may have written other bytes for the same JSON.

    It may for decimals as numbers and for values without a schema.
    """
    return schema is None or _has_decimals(schema)


def _has_decimals(schema: Schema) -> bool:
    inner = [f.schema for f in schema.fields] + [part for part in (schema.keys, schema.items) if part is not None]
    return schema.name == s.DECIMAL or any(map(_has_decimals, inner))


def _text(array: pa.Array, schema: Schema, writing: Writing) -> pa.StringArray:
    """Return the JSON of every value; a null is the text null."""
    return pc.fill_null(pc.if_else(array.is_valid(), _value_text(array, schema, writing), _NULL), "null")


_NULL: Final = pa.scalar(None, pa.utf8())


def _value_text(array: pa.Array, schema: Schema, writing: Writing) -> pa.StringArray:
    if schema.name in _MOMENTS:
        own, number = _MOMENTS[schema.name]
        return _exact(array, own).cast(number).cast(pa.utf8())
    if schema.name == s.DECIMAL and not writing.numeric_decimals:
        return _joined('"', base64_of(unscaled_of(_exact(array, arrow_type(schema)))), '"')
    if schema.name == s.RECURSIVE and writing.embeds:
        return _exact(array, pa.utf8())
    match schema.type:
        case Type.STRUCT:
            return _struct_text(array, schema, writing)
        case Type.ARRAY:
            return _list_text(array, _text(*_items(array, schema, writing), writing), "[", "]")
        case Type.MAP:
            return _map_text(array, schema, writing)
        case Type.STRING:
            return _string_text(_exact(array, pa.utf8()))
        case Type.BYTES if schema.name != s.DECIMAL:
            return _joined('"', base64_of(array), '"')
        case Type.FLOAT32 | Type.FLOAT64:
            return _float_text(array, schema)
    return _exact(array, arrow_type(schema)).cast(pa.utf8())


def _joined(*parts: pa.StringArray | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*(pa.scalar(p) if isinstance(p, str) else p for p in parts), pa.scalar(""))


def _string_text(texts: pa.StringArray) -> pa.StringArray:
    quoted = _joined('"', texts, '"')
    special = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(special).as_py():
        return quoted
    return pc.replace_with_mask(
        quoted, special, pa.array(map(json_string, texts.filter(special).to_pylist()), pa.utf8())
    )


def _struct_text(array: pa.StructArray, schema: Schema, writing: Writing) -> pa.StringArray:
    if not schema.fields:
        return pa.repeat(pa.scalar("{}"), len(array))
    parts: list[pa.StringArray | str] = []
    for child, field in zip(array.flatten(), schema.fields, strict=True):
        _check_nulls(child, field.schema, array.null_count, writing)
        parts += [f"{',' if parts else '{'}{json_string(field.name)}:", _text(child, field.schema, writing)]
    return _joined(*parts, "}")


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
    return pc.if_else(finite, java_numbers(numbers), special)


def _items(array: pa.Array, schema: Schema, writing: Writing) -> tuple[pa.Array, Schema]:
    assert schema.items is not None
    items = array.flatten()
    _check_nulls(items, schema.items, 0, writing)
    return items, schema.items


def _check_nulls(child: pa.Array, schema: Schema, parent_nulls: int, writing: Writing) -> None:
    """Raise NotColumnarError for a null that means a default or an error, which is a matter for the row path."""
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
