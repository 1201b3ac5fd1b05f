"""Makes the sink's lines from columns, by Arrow's kernels if the type has one. Pure."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.records import Column
from connect.api.schema import Schema, Type
from connect.api.values.text import java_string

_TEXT = pa.large_string()
_LIKE_JAVA = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)


def lines_of(column: Column) -> bytes:
    """Return the text of each value, every one followed by a newline. Values of type bytes are written as they are."""
    if not len(column):
        return b""
    array = _arrow_form(column)
    if array is None:
        texts = (v if isinstance(v, bytes) else _encoded(_text(v, column.schema)) for v in column.rows())
        return b"\n".join(texts) + b"\n"
    if _is_plain(column.schema, Type.BYTES):
        return _joined(pc.fill_null(array.cast(pa.large_binary()), b"null"))
    texts = array.cast(_TEXT) if column.schema is None else _texts(array, column.schema)
    return _joined(pc.fill_null(texts, "null"))


def _text(value: Any, schema: Schema | None) -> str:
    """Return `String.valueOf` of a value; bytes inside other values are base64, where Java prints an object address."""
    return java_string(value, schema, of_bytes=lambda data: base64.b64encode(data).decode("ascii"))


def _arrow_form(column: Column) -> pa.Array | None:
    """Return the Arrow array if it suffices to write the values; None if their types show only in Python's form."""
    if not column.is_arrow:
        return None
    array = column.arrow()
    known = column.schema is not None or pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return array if known else None


def _texts(array: pa.Array, schema: Schema) -> pa.Array:
    """Return the text of each value as large_string; a null stays null."""
    if schema.type is Type.STRING or (schema.name is None and schema.type in _LIKE_JAVA):
        return array.cast(_TEXT)
    if schema.type is Type.STRUCT:
        return _struct_texts(array, schema)
    rows = Column.from_arrow(array, schema).rows()
    return pa.array([None if v is None else _text(v, schema) for v in rows], _TEXT)


def _struct_texts(array: pa.StructArray, schema: Schema) -> pa.Array:
    # Not null_handling="skip": binary_join_element_wise then leaves out rows whose members are all null (Arrow 26).
    members = [
        pc.fill_null(_concatenated(_scalar(f",{field.name}="), _texts(child, field.schema)), "")
        for field, child in zip(schema.fields, array.flatten(), strict=True)
    ]
    inner = pc.utf8_slice_codeunits(_concatenated(pa.repeat(_scalar(""), len(array)), *members), 1)
    whole = _concatenated(_scalar("Struct{"), inner, _scalar("}"))
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, _TEXT))


def _concatenated(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, _scalar(""))


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _joined(lines: pa.Array) -> bytes:
    all_lines = pa.LargeListArray.from_arrays(pa.array([0, len(lines)], pa.int64()), lines)
    joined = pc.binary_join(all_lines, pa.scalar(b"\n", pa.large_binary()).cast(lines.type))
    return b"".join([joined[0].as_buffer(), b"\n"])


def _is_plain(schema: Schema | None, kind: Type) -> bool:
    return schema is not None and schema.type is kind and schema.name is None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
