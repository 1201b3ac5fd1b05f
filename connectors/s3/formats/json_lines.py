"""Makes lines of JSON of values, in the forms of `connect.api.values.json_forms`. Pure.

Whole columns are converted at a time if they have all facts about the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from connect.api import schema as s
from connect.api.records import Column
from connect.api.values.json_forms import JsonForms, json_of_rows, own_texts

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN: Final = frozenset({
    s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64,
    s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BOOLEAN, s.Type.STRING,
})  # fmt: skip
_ESCAPED: Final = r'["\\\x00-\x1f]'


def json_lines(values: Column, *, numeric_decimals: bool) -> pa.Array:
    """Return one JSON text per row as large_binary; null if the value is null."""
    schema = values.schema
    if schema is None:
        own = own_texts(values)
        if own is not None:
            return own
        if values.is_arrow and ((_is_whole(values) and _is_finite(values.arrow())) or _says_all(values.arrow())):
            return _vectorised(values.arrow())
    if schema is not None and _is_flat(schema) and values.is_arrow and _is_finite(values.arrow()):
        return _vectorised(values.arrow())
    # Nested values with a schema are converted row by row, and values without one if a row may lack a field.
    return json_of_rows(values.rows(), schema, JsonForms(numeric_decimals=numeric_decimals))


def _is_whole(values: Column) -> bool:
    import pyarrow as pa

    # Rows without a field are written one by one, as no column tells how many they are.
    return values.is_whole and pa.types.is_struct(values.arrow().type) and values.arrow().type.num_fields > 0


def _says_all(array: pa.Array) -> bool:
    """Return True if columns that were inferred from rows without a schema have all facts about the rows.

    A null may stand for a field that a row does not have, and a double without a fraction for a whole number.
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
    """Return the JSON of rows, made column by column (docs/decisions/045)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(array) == 0:
        return pa.array([], pa.large_binary())
    table = pa.RecordBatch.from_struct_array(array)
    parts, between = [], "{"
    for name, column in zip(table.schema.names, table.columns, strict=True):
        quote, texts = _texts(_as_number(column))
        parts += [pa.scalar(f"{between}{orjson.dumps(name).decode()}:{quote}", pa.large_string()), texts]
        between = f"{quote},"
    parts.append(pa.scalar(f"{between[:-1]}}}", pa.large_string()))
    lines = pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())).cast(pa.large_binary())
    return pc.if_else(array.is_valid(), lines, pa.scalar(None, pa.large_binary())) if array.null_count else lines


def _texts(column: pa.Array) -> tuple[str, pa.Array]:
    """Return the JSON of each value as large_string, and the quote to put at both of its ends, or an empty text for no
    quote.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = column.type
    if t.is_integer(kind) or t.is_boolean(kind):
        return "", _null_as_text(column.cast(pa.large_string()), column)
    if t.is_floating(kind):
        return "", _null_as_text(_split(column.fill_null(0).to_numpy(zero_copy_only=False)), column)
    if not t.is_string(kind):
        texts = json_of_rows(column.to_pylist(), None)
        return "", _null_as_text(texts.cast(pa.large_string()), column)
    if column.null_count or pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        return "", _split(column.to_numpy(zero_copy_only=False).tolist())
    return '"', column.cast(pa.large_string())


def _split(values: Any) -> pa.Array:
    """Return the JSON of each value; there must be some. All are written at once and parted at line breaks, as the JSON
    of a text has none.
    """
    import pyarrow as pa

    written = orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
    return pa.array(written[4:-2].split(b",\n  "), pa.large_binary()).cast(pa.large_string())


def _null_as_text(texts: pa.Array, column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(column.is_valid(), texts, pa.scalar("null", pa.large_string())) if column.null_count else texts


def _as_number(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_date32(column.type) or t.is_time32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if t.is_timestamp(column.type) else column
