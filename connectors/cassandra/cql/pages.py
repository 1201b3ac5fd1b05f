"""Turns a page of rows, as the server sends it, into Arrow columns; common types need no Python object per value."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from connect.api.arrow_rows import arrow_from_rows
from connect.api.errors import SchemaError
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.schemas import connect_schema
from connectors.cassandra.cql.values import DATE_EPOCH, decoder
from connectors.cassandra.native import array_of, module

_SIZE: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Page:
    """Holds the rows of a result as in CQL protocol 4.2.5.2: each cell is a 4-byte length and its bytes.

    A negative length stands for null.
    """

    data: bytes
    rows: int
    columns: int
    next: bytes | None = None
    """Holds the server's paging state, by which the next page is asked for; None if this is the last page."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Locates the cells of one column of a page: where each begins in `data`, and its size; below 0 for null."""

    data: bytes
    starts: np.ndarray[Any, np.dtype[np.int64]]
    sizes: np.ndarray[Any, np.dtype[np.int64]]

    def row(self, row: int) -> Cells:
        """Return the cells of one row only."""
        return Cells(self.data, self.starts[row : row + 1], self.sizes[row : row + 1])

    def take(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Cells:
        """Return the cells of the rows with these numbers."""
        return Cells(self.data, self.starts[rows], self.sizes[rows])

    def value(self, row: int) -> bytes | None:
        """Return the bytes of the cell of one row; None for a null."""
        size = int(self.sizes[row])
        start = int(self.starts[row])
        return None if size < 0 else self.data[start : start + size]


def split_columns(page: Page) -> list[Cells]:
    """Return the cells of each column of a page."""
    native = module()
    found = None if native is None else native.find_cells(page.data, page.rows, page.columns)
    if found is None:
        return split_columns_slowly(page)
    starts, sizes = (np.frombuffer(numbers, np.int64).reshape(page.columns, page.rows) for numbers in found)
    return [Cells(page.data, starts[i], sizes[i]) for i in range(page.columns)]


def split_columns_slowly(page: Page) -> list[Cells]:
    """Split columns without native code."""
    data, unpack, at = page.data, _SIZE.unpack_from, 0
    count = page.rows * page.columns
    starts, sizes = [0] * count, [0] * count
    # A Python loop is needed, as each cell begins where the one before ends. It takes a fifth of a microsecond per
    # cell.
    for i in range(count):
        (size,) = unpack(data, at)
        at += 4
        starts[i] = at
        sizes[i] = size
        if size > 0:
            at += size
    all_starts, all_sizes = np.array(starts, np.int64), np.array(sizes, np.int64)
    return [Cells(data, all_starts[i :: page.columns], all_sizes[i :: page.columns]) for i in range(page.columns)]


def decode_column(cells: Cells, cql: CqlType, name: str) -> pa.Array:
    """Return the values of a column as an Arrow array of its Connect schema.

    Raise SchemaError, which names the column, when a value is not of its type.
    """
    made = _WHOLE.get(cql.name)
    if made is not None:
        array = made(cells)
        if array is not None:
            return array
    decode = decoder(cql)
    try:
        values = [None if data is None else decode(data) for data in map(cells.value, range(len(cells.sizes)))]
    except SchemaError as error:
        raise SchemaError(error.message, field=name, fix=error.fix) from error  # what decodes knows no column
    except (ValueError, struct.error, IndexError) as error:
        raise SchemaError(f"a value is not of its type {cql.name}: {error}", field=name) from error
    return arrow_from_rows(values, connect_schema(cql))


def _fixed(form: str, target: pa.DataType) -> Callable[[Cells], pa.Array | None]:
    stored = np.dtype(form)

    def make(cells: Cells) -> pa.Array | None:
        numbers = _numbers(cells, stored)
        if numbers is None:
            return None
        mask = cells.sizes < 0
        return pa.array(numbers, target, mask=mask if mask.any() else None)

    return make


def _numbers(cells: Cells, stored: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """Return the numbers of a column of fixed size, with zero for each null; None if a value has another size."""
    valid = cells.sizes >= 0
    if not ((cells.sizes == stored.itemsize) | ~valid).all():
        return None
    raw = np.frombuffer(cells.data, np.uint8)
    # Each null reads the bytes of the first cell that has some; the caller masks them.
    starts = np.where(valid, cells.starts, cells.starts[valid][:1].sum())
    if not valid.any():
        return np.zeros(len(valid), stored.newbyteorder("="))
    gathered = raw[starts[:, None] + np.arange(stored.itemsize)]
    numbers: np.ndarray[Any, Any] = np.ascontiguousarray(gathered).view(stored).reshape(-1)
    return numbers.astype(stored.newbyteorder("="))


def _boolean(cells: Cells) -> pa.Array | None:
    numbers = _numbers(cells, np.dtype("u1"))
    return None if numbers is None else pa.array(numbers != 0, pa.bool_(), mask=cells.sizes < 0)


def _date(cells: Cells) -> pa.Array | None:
    numbers = _numbers(cells, np.dtype(">u4"))
    if numbers is None:
        return None
    return pa.array((numbers.astype(np.int64) - DATE_EPOCH).astype(np.int32), pa.int32(), mask=cells.sizes < 0)


def _bytes(target: pa.DataType) -> Callable[[Cells], pa.Array | None]:
    def make(cells: Cells) -> pa.Array | None:
        valid = cells.sizes >= 0
        ends = cells.starts + np.maximum(cells.sizes, 0)
        # The bounds make one Arrow array over the page's own bytes, in which values and the bytes between them
        # alternate. Every second element of it is a value.
        bounds = np.empty(2 * len(valid) + 1, np.int32)
        bounds[0:-1:2], bounds[1::2], bounds[-1] = cells.starts, ends, len(cells.data)
        if not len(valid):
            return pa.array([], target)
        both = pa.BinaryArray.from_buffers(
            pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(cells.data)]
        )
        wanted = pa.array(np.arange(0, 2 * len(valid), 2), pa.int64(), mask=~valid if not valid.all() else None)
        try:
            return both.take(wanted).cast(target)
        except pa.ArrowInvalid:
            return None  # the slow way says which value is no UTF-8

    return make


NO_MOMENT: Final = -(2**63)
"""This number stands for null in the results of `moments_ms`."""
_UUID_EPOCH_MS: Final = 12_219_292_800_000
"""So many milliseconds lie between 15 October 1582, from which the times of UUIDs are counted, and 1970."""


def moments_ms(cells: Cells, cql: CqlType) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the milliseconds since 1970 of a column of timestamps or timeuuids, with NO_MOMENT for each null."""
    if cql.name == "timestamp":
        numbers = _numbers(cells, np.dtype(">i8"))
        if numbers is None:  # empty values, of old tables
            values = decode_column(cells, cql, "time").fill_null(NO_MOMENT)
            return np.asarray(values.to_numpy())
        return np.where(cells.sizes < 0, NO_MOMENT, numbers)
    valid = cells.sizes == 16
    if not valid.any():
        return np.full(len(valid), NO_MOMENT, np.int64)
    raw = np.frombuffer(cells.data, np.uint8)
    starts = np.where(valid, cells.starts, cells.starts[valid][0])
    # In RFC 9562 a number of 100 ns is stored as its 32 low, 16 middle and 12 high bits; the version's four bits are
    # above.
    fields = raw[starts[:, None] + np.array([6, 7, 4, 5, 0, 1, 2, 3])]
    ticks = np.ascontiguousarray(fields).view(">u8").reshape(-1).astype(np.int64) & 0x0FFF_FFFF_FFFF_FFFF
    return np.where(valid, ticks // 10_000 - _UUID_EPOCH_MS, NO_MOMENT)


_HEX: Final = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), np.uint8).reshape(256, 2)
_DASHES: Final = (8, 13, 18, 23)
_DIGITS: Final = np.array([i for i in range(36) if i not in _DASHES])


def _uuid(cells: Cells) -> pa.Array | None:
    valid = cells.sizes >= 0
    if not (cells.sizes[valid] == 16).all():
        return None
    if not valid.any():
        return pa.nulls(len(valid), pa.string())
    raw = np.frombuffer(cells.data, np.uint8)
    starts = np.where(valid, cells.starts, cells.starts[valid][0])
    texts = np.full((len(valid), 36), ord("-"), np.uint8)
    texts[:, _DIGITS] = _HEX[raw[starts[:, None] + np.arange(16)]].reshape(len(valid), 32)
    offsets = np.arange(0, 36 * (len(valid) + 1), 36, dtype=np.int32)
    array = pa.StringArray.from_buffers(len(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts)))
    return array if valid.all() else array.take(pa.array(np.arange(len(valid)), pa.int64(), mask=~valid))


def _number_text(*, has_scale: bool) -> Callable[[Cells], pa.Array | None]:
    def make(cells: Cells) -> pa.Array | None:
        native = module()
        if native is None:
            return None
        starts, sizes = np.ascontiguousarray(cells.starts), np.ascontiguousarray(cells.sizes)
        made = native.number_texts(cells.data, starts, sizes, has_scale)
        return None if made is None else array_of(made)

    return make


_WHOLE: Final[Mapping[str, Callable[[Cells], pa.Array | None]]] = {
    "tinyint": _fixed("i1", pa.int8()), "smallint": _fixed(">i2", pa.int16()), "int": _fixed(">i4", pa.int32()),
    "bigint": _fixed(">i8", pa.int64()), "counter": _fixed(">i8", pa.int64()), "float": _fixed(">f4", pa.float32()),
    "double": _fixed(">f8", pa.float64()), "timestamp": _fixed(">i8", pa.int64()), "time": _fixed(">i8", pa.int64()),
    "boolean": _boolean, "date": _date, "text": _bytes(pa.string()), "ascii": _bytes(pa.string()),
    "blob": _bytes(pa.binary()), "custom": _bytes(pa.binary()), "uuid": _uuid, "timeuuid": _uuid,
    "decimal": _number_text(has_scale=True), "varint": _number_text(has_scale=False),
}  # fmt: skip
"""Maps each type of which a whole column is converted at once to the function that does it.

The function returns None when a value needs to be looked at alone; then the column is decoded value by value.
"""


def struct_of(arrays: Sequence[pa.Array], fields: Sequence[pa.Field]) -> pa.StructArray:
    """Join columns into one struct array, an element per row."""
    return pa.StructArray.from_arrays(list(arrays), fields=list(fields))
