"""Tells how large rows are, and cuts them into parts that one request takes. Pure.

Sizes are those of Arrow; JSON's are about the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConnectError

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BYTES: Final = 9 * 1024 * 1024
"""A row may have so many bytes: a request of insertAll or AppendRows takes 10 MB, with all around the row."""


_UNITS: Final = ("B", "KiB", "MiB", "GiB")


def bytes_told(number: float) -> str:
    """Return a number of bytes as text for people, in a fitting unit, as `0.98 GiB`."""
    for unit in _UNITS:
        if number < 1000:
            return f"{number:,.0f} B" if unit == "B" else f"{number:,.2f} {unit}"
        number /= 1024
    return f"{number:,.2f} TiB"


def too_large(rows: pa.Table, most_bytes: int, *, as_json: bool = False) -> dict[int, Exception]:
    """Return an error for each row that is larger than `most_bytes`, by the row's index.

    With `as_json` BYTES count as the base64 that they become, which is a third larger.
    """
    import pyarrow.compute as pc

    if rows.nbytes <= (most_bytes * 3 // 4 if as_json else most_bytes):
        return {}
    sizes = row_sizes(rows, as_json=as_json)
    found = pc.indices_nonzero(pc.greater(sizes, most_bytes)).to_pylist()
    return {row: _too_large_error(sizes[row].as_py()) for row in found}


def _too_large_error(size_bytes: int) -> ConnectError:
    """Return the error that says why a row of this size is refused."""
    return ConnectError(
        f"The row has {size_bytes} bytes, and a request to BigQuery takes 10 MB.",
        fix="Load it by a job, as with dedup or enableBatchLoad, or leave the large field out by a transform.",
    )


def parts(
    rows: pa.Table, most_bytes: int, most_rows: int, leave_out: Collection[int] = ()
) -> Iterator[tuple[int, int]]:
    """Yield runs (first, end) of rows, each of at most so many bytes and rows, or of one row, without `leave_out`."""
    import pyarrow.compute as pc

    if not leave_out and rows.nbytes <= most_bytes:
        for first in range(0, len(rows), most_rows):
            yield first, min(first + most_rows, len(rows))
        return
    behind_bytes = pc.cumulative_sum(row_sizes(rows))
    for start, end in runs_without(0, len(rows), leave_out):
        first = start
        while first < end:
            most = most_bytes + (behind_bytes[first - 1].as_py() if first else 0)
            last = min(end, first + most_rows)
            stop = bisect_right(range(last), most, lo=first, key=lambda row: behind_bytes[row].as_py())
            yield first, max(stop, first + 1)
            first = max(stop, first + 1)


def runs_without(first: int, end: int, rows: Collection[int]) -> list[tuple[int, int]]:
    """Return the runs (first, end) of rows that are left of first..end-1 without `rows`."""
    edges = [first - 1, *sorted(rows), end]
    return [(a + 1, b) for a, b in pairwise(edges) if a + 1 < b]


def row_sizes(rows: pa.Table, *, as_json: bool = False) -> pa.Array:
    """Return the bytes of each row, as int64. For `as_json` see `too_large`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    for column in rows.itercolumns():
        total = pc.add(total, _sizes(column.combine_chunks(), as_json))
    return total


def _sizes(array: pa.Array, as_json: bool) -> pa.Array:
    """Return the bytes of each value, with all that a nested one holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_struct(kind):
        total = pa.repeat(pa.scalar(0, pa.int64()), len(array))
        for index in range(kind.num_fields):
            total = pc.add(total, _sizes(pc.struct_field(array, index), as_json))
        return total
    if pa.types.is_list(kind):
        lengths = pc.list_value_length(array).fill_null(0).cast(pa.int64())
        zero = pa.array([0], pa.int64())
        before = pa.concat_arrays([zero, pc.cumulative_sum(_sizes(array.flatten(), as_json))])
        ends = pa.concat_arrays([zero, pc.cumulative_sum(lengths)])
        return pc.subtract(before.take(ends.slice(1)), before.take(ends.slice(0, len(array))))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = pc.binary_length(array).fill_null(0).cast(pa.int64())
        is_base64 = as_json and pa.types.is_binary(kind)
        return pc.multiply(pc.divide(pc.add(lengths, 2), 3), 4) if is_base64 else lengths
    width = 1 if pa.types.is_boolean(kind) or pa.types.is_null(kind) else kind.bit_width // 8
    return pa.repeat(pa.scalar(width, pa.int64()), len(array))
