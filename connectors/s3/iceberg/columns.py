"""Fits rows into the columns of a table: tells which columns the table needs, and casts rows to its types. Pure.

Only what Iceberg can promote is changed: int to long, float to double, decimals to more digits. Nothing is rounded,
cut, or turned into text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

_INT_BITS = 32


def merged(table: pa.StructType, rows: pa.StructType) -> pa.StructType:
    """Return the columns that a table needs to hold these rows, too: its own in order, and then new, optional ones.

    SchemaError names a field whose type does not fit to the table's.
    """
    found = _merged_struct(table, rows, "")
    if not found.num_fields:
        raise SchemaError("No field of these rows has a value, so their table would have no column.")
    return found


def fitted(rows: pa.RecordBatch, columns: pa.StructType) -> pa.RecordBatch:
    """Return the rows cast to these columns, with null in columns that they lack.

    SchemaError: a value does not fit, or a required one is null.
    """
    import pyarrow as pa

    array = rows.to_struct_array() if rows.num_columns else pa.nulls(rows.num_rows, pa.struct([]))
    try:
        return pa.RecordBatch.from_struct_array(array.cast(columns))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"A row does not fit its table: {error}") from error


def valued(array: pa.Array) -> pa.DataType:
    """Return the type of an array, where each member without any value is a null."""
    import pyarrow as pa
    import pyarrow.types as t

    kind = array.type
    if t.is_struct(kind) and array.null_count < len(array):
        children = zip(kind, array.flatten(), strict=True)
        return pa.struct([field.with_type(valued(child)) for field, child in children])
    if _is_list(kind):
        return pa.list_(valued(array.flatten()))
    if t.is_map(kind):
        entries = array.filter(array.is_valid())
        return pa.map_(valued(entries.keys), valued(entries.items))
    return pa.null() if array.null_count == len(array) else kind


def _merged_struct(table: pa.StructType, rows: pa.StructType, path: str) -> pa.StructType:
    import pyarrow as pa

    fields = []
    for field in table:
        index = rows.get_field_index(field.name)
        kind = field.type if index < 0 else _merged(field.type, rows.field(index).type, _below(path, field.name))
        fields.append(field.with_type(kind))
    new = ((field.name, field.type) for field in rows if table.get_field_index(field.name) < 0)
    fields.extend(pa.field(name, kind) for name, rest in new if (kind := _new(rest, _below(path, name))) is not None)
    return pa.struct(fields)


def _merged(table: pa.DataType, rows: pa.DataType, path: str) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(rows):
        return table
    if t.is_struct(table) and t.is_struct(rows):
        return _merged_struct(table, rows, path)
    if t.is_list(table) and _is_list(rows):
        return pa.list_(table.value_field.with_type(_merged(table.value_type, rows.value_type, f"{path}[]")))
    if t.is_map(table) and t.is_map(rows):
        keys = _merged(table.key_type, rows.key_type, f"{path}.key")
        return pa.map_(keys, table.item_field.with_type(_merged(table.item_type, rows.item_type, f"{path}.value")))
    found = None if t.is_nested(table) or t.is_nested(rows) else _wider(table, _primitive(rows, path))
    if found is None:
        raise SchemaError(f"Its table has {table} there, and these rows have {rows}.", field=path)
    return found


def _wider(table: pa.DataType, rows: pa.DataType) -> pa.DataType | None:
    import pyarrow as pa
    import pyarrow.types as t

    if table == rows:
        return table
    if t.is_integer(table) and t.is_integer(rows):
        return pa.int64()
    if t.is_floating(table) and (t.is_floating(rows) or t.is_integer(rows)):
        # Whole numbers that a double holds exactly are allowed in a column of doubles, as JSON has 1 for 1.0.
        return pa.float64() if t.is_float64(rows) else table
    if t.is_decimal(table) and t.is_decimal(rows) and table.scale == rows.scale:
        return table if table.precision >= rows.precision else rows
    return None


def _new(rows: pa.DataType, path: str) -> pa.DataType | None:
    """Return the type of a new column, or None if its type is not known yet, as all its values are null or empty."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(rows):
        return None
    if t.is_struct(rows):
        found = _merged_struct(pa.struct([]), rows, path)
        return found if found.num_fields else None
    if _is_list(rows):
        items = _new(rows.value_type, f"{path}[]")
        return None if items is None else pa.list_(pa.field("element", items))
    if t.is_map(rows):
        keys, items = _new(rows.key_type, f"{path}.key"), _new(rows.item_type, f"{path}.value")
        return None if keys is None or items is None else pa.map_(keys, items)
    return _primitive(rows, path)


def _primitive(rows: pa.DataType, path: str) -> pa.DataType:
    """Return the Arrow type of the Iceberg type that holds every value of this type."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_integer(rows) and t.is_signed_integer(rows):
        return pa.int32() if rows.bit_width <= _INT_BITS else pa.int64()
    if t.is_time(rows):
        return pa.time64("us")
    if t.is_timestamp(rows):
        return pa.timestamp("us", rows.tz)
    if t.is_decimal256(rows) or t.is_unsigned_integer(rows):
        raise SchemaError(f"Iceberg has no type for {rows}.", field=path, fix="Change the field with a transform.")
    if t.is_large_string(rows) or t.is_string_view(rows):
        return pa.string()
    if t.is_large_binary(rows) or t.is_binary_view(rows):
        return pa.binary()
    return rows


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a table's type with lists and texts that have 32-bit offsets, as in rows."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_struct(kind):
        return pa.struct([pa.field(field.name, plain(field.type), field.nullable) for field in kind])
    if _is_list(kind):
        return pa.list_(pa.field("element", plain(kind.value_type), kind.value_field.nullable))
    if t.is_map(kind):
        return pa.map_(plain(kind.key_type), pa.field("value", plain(kind.item_type), kind.item_field.nullable))
    return _primitive(kind, "")


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    return bool(t.is_list(kind) or t.is_large_list(kind))


def _below(path: str, name: str) -> str:
    return f"{path}.{name}".lstrip(".")
