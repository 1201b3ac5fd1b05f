"""Tells which Arrow columns the native JSON writer may take: those with exactly the types and nulls of their schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.schema import Schema, Type
from connect.convert.json.write import Writing


def encode_native(
    array: pa.Array, schema: Schema, writing: Writing, *, prefix: bytes, suffix: bytes
) -> pa.BinaryArray | None:
    """Return the JSON of every row between `prefix` and `suffix`, null for a null row.

    None when the result is not proven to be Java's bytes.
    """
    if native.module() is None or not _fits(array, schema, writing):
        return None
    return native.encode_json(array, prefix=prefix, suffix=suffix)


def _fits(array: pa.Array, schema: Schema, writing: Writing) -> bool:
    if schema.name == s.DECIMAL and writing.numeric_decimals:
        return False
    if schema.name == s.RECURSIVE and writing.embeds:
        return False
    match schema.type:
        case Type.STRUCT:
            return _struct_fits(array, schema, writing)
        case Type.ARRAY:
            assert schema.items is not None
            return pa.types.is_list(array.type) and _child_fits(array.flatten(), schema.items, 0, writing)
        case Type.MAP:
            return False
    return bool(array.type.equals(arrow_type(schema)))


def _struct_fits(array: Any, schema: Schema, writing: Writing) -> bool:
    if not pa.types.is_struct(array.type) or [f.name for f in array.type] != [f.name for f in schema.fields]:
        return False
    # The Arrow C interface ends a name at NUL.
    if any("\x00" in field.name for field in schema.fields):
        return False
    nulls = array.null_count
    return all(
        _child_fits(child, field.schema, nulls, writing)
        for child, field in zip(array.flatten(), schema.fields, strict=True)
    )


def _child_fits(child: pa.Array, schema: Schema, parent_nulls: int, writing: Writing) -> bool:
    """Tell if native code may write the child: a null that means a default or an error is a matter for the row path."""
    has_default = schema.default is not None and writing.replace_null_with_default
    null_is_null = schema.optional and not has_default
    return (null_is_null or child.null_count <= parent_nulls) and _fits(child, schema, writing)
