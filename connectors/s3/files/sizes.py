"""Computes the uncompressed bytes of each row, which do not depend on its batch. A null has 0 bytes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def row_sizes(rows: pa.RecordBatch | pa.Array) -> pa.Int64Array:
    """Return the bytes of each row: fixed widths, lengths of text and bytes, and the elements of lists and maps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = rows.columns if isinstance(rows, pa.RecordBatch) else [rows]
    total = _zeros(len(rows))
    for column in columns:
        total = pc.add(total, _sizes(column))
    return total


def _zeros(length: int) -> pa.Int64Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(0, pa.int64()), length)


def _sizes(column: pa.Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = column.type
    if t.is_null(kind):
        return _zeros(len(column))
    if t.is_struct(kind):
        inner = _zeros(len(column))
        for i in range(kind.num_fields):
            inner = pc.add(inner, _sizes(column.field(i)))
    elif t.is_map(kind):
        # A map's keys and items share its offsets. `values` would ignore that the array is a slice; `keys` and `items`
        # with the offsets do not.
        inner = pc.add(_spans(column.offsets, column.keys), _spans(column.offsets, column.items))
    elif t.is_list(kind) or t.is_large_list(kind):
        inner = _spans(column.offsets, column.values)
    elif t.is_string_view(kind) or t.is_binary_view(kind):
        inner = pc.binary_length(column.cast(pa.large_binary())).cast(pa.int64())
    elif t.is_string(kind) or t.is_large_string(kind) or t.is_binary(kind) or t.is_large_binary(kind):
        inner = pc.binary_length(column).cast(pa.int64())
    else:
        inner = pa.repeat(pa.scalar((kind.bit_width + 7) // 8, pa.int64()), len(column))
    return pc.if_else(column.is_valid(), pc.fill_null(inner, 0), 0)


def _spans(offsets: pa.Array, children: pa.Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(_sizes(children))])
    at = ends.take(offsets)
    return pc.subtract(at.slice(1), at.slice(0, len(at) - 1))
