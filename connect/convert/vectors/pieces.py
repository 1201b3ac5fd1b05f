"""Builds columns of byte strings, one per row, that are joined to records. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Unsigned = npt.NDArray[np.uint64]
Parts = list[pa.BinaryArray | pa.Scalar]
"""Pieces of every row in their order; a scalar is the same in each row."""

_GROUP: Final = np.uint64(0x7F)
_CONTINUED: Final = np.uint64(0x8080808080808080)
_WORD: Final = 8
_SPREADS: Final = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x000000000FFFFFFF, 0x00FFFFFFF0000000, 4),
        (0x00003FFF00003FFF, 0x0FFFC0000FFFC000, 2),
        (0x007F007F007F007F, 0x3F803F803F803F80, 1),
    )
)
"""Holds the steps that make room for the eighth bit of every group of seven; the reverse of `Cursor.varints`."""


def joined(parts: Parts) -> pa.BinaryArray:
    """Return one byte string per row. At least one part must be an array."""
    arrays = [part for part in parts if isinstance(part, pa.Array)]
    if len(parts) == 1 and arrays:
        return arrays[0]
    return pc.binary_join_element_wise(*parts, pa.scalar(b""))


def constant(data: bytes, length: int) -> pa.BinaryArray:
    """Return an array that has the same bytes in every row."""
    return pa.repeat(pa.scalar(data, pa.binary()), length)


def with_array(parts: Parts, length: int) -> Parts:
    """Return the parts with at least one array among them, or a join would not know how many rows there are."""
    if any(isinstance(part, pa.Array) for part in parts):
        return parts
    return [constant(b"".join(part.as_py() for part in parts), length)]


def varints(numbers: Unsigned) -> pa.BinaryArray:
    """Return every number in base 128, least significant group first (LEB128)."""
    count = len(numbers)
    largest = int(numbers.max()) if count else 0
    width = max(1, (largest.bit_length() + 6) // 7)
    if width == 1:
        return _fixed(numbers.astype(np.uint8), 1, count)
    lengths = np.ones(count, np.int64)
    for group in range(1, width):
        lengths += numbers >= np.uint64(1 << 7 * group)
    groups = _words(numbers, lengths) if width <= _WORD else _wide_groups(numbers, lengths, width)
    if int(lengths.min()) == width:
        return _fixed(np.ascontiguousarray(groups[:, :width]), width, count)
    # The bytes in use and the gaps behind them are one array of strings, of which every other one is taken.
    row = groups.shape[1]
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0::2] = np.arange(0, (count + 1) * row, row, dtype=np.int32)
    bounds[1::2] = bounds[0:-1:2] + lengths
    both = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(bounds), pa.py_buffer(groups)])
    return both.take(pa.array(np.arange(0, 2 * count, 2)))


def _words(numbers: Unsigned, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return the groups of numbers below 2**56, eight bytes to a row."""
    words = numbers
    for low, high, shift in _SPREADS:
        words = (words & low) | ((words & high) << shift)
    continued = (np.uint64(1) << (8 * (lengths - 1)).astype(np.uint64)) - np.uint64(1)
    words |= continued & _CONTINUED
    return words.view(np.uint8).reshape(len(numbers), _WORD)


def _wide_groups(numbers: Unsigned, lengths: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
    groups = np.empty((len(numbers), width), np.uint8)
    for group in range(width):
        groups[:, group] = (numbers >> np.uint64(7 * group)) & _GROUP
        groups[:, group] |= (lengths > group + 1).astype(np.uint8) << np.uint8(7)
    return groups


def zigzag(numbers: npt.NDArray[np.int64]) -> Unsigned:
    """Return signed numbers with the sign in the lowest bit, so that small ones stay short."""
    folded: Unsigned = ((numbers << np.int64(1)) ^ (numbers >> np.int64(63))).view(np.uint64)
    return folded


def signed_varints(array: pa.Array) -> pa.BinaryArray:
    """Return the zigzag varints of an integer array without nulls."""
    return varints(zigzag(int64_of(array)))


def int64_of(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return numbers, dates or times of an array without nulls as 64-bit integers."""
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.view(pa.int32())
    numbers: npt.NDArray[np.int64] = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def lengths_of(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the length of every string in bytes; 0 for a null."""
    return int64_of(pc.fill_null(pc.binary_length(array), 0))


def little_endian(array: pa.Array) -> pa.BinaryArray:
    """Return the bytes of every number of fixed width, as memory holds them."""
    return array.view(pa.binary(array.type.byte_width)).cast(pa.binary())


def as_binary(array: pa.Array) -> pa.BinaryArray:
    """Return text as its UTF-8 bytes; binary arrays stay as they are."""
    return array if pa.types.is_binary(array.type) else array.cast(pa.binary())


def scattered(valid: pa.BooleanArray, pieces: pa.BinaryArray, otherwise: bytes) -> pa.BinaryArray:
    """Return the pieces at the rows that are valid, and these bytes at the others."""
    return pc.replace_with_mask(constant(otherwise, len(valid)), valid, pieces)


def concatenated_per_list(lists: pa.Array, pieces: pa.BinaryArray) -> pa.BinaryArray:
    """Return the pieces of each list's items joined; `pieces` has one per item of `lists.flatten()`."""
    counts = list_lengths(lists)
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    grouped = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pieces)
    return pc.binary_join(grouped, b"")


def list_lengths(lists: pa.Array) -> npt.NDArray[np.int64]:
    """Return the number of items of every list or map without nulls."""
    if pa.types.is_map(lists.type):
        offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        lengths: npt.NDArray[np.int64] = offsets[1:] - offsets[:-1]
        return lengths
    return int64_of(pc.list_value_length(lists))


def map_entries(maps: pa.MapArray) -> Sequence[pa.Array]:
    """Return keys and values of all maps one after the other; the maps must have no nulls."""
    start, stop = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return maps.keys.slice(start, stop - start), maps.items.slice(start, stop - start)


def _fixed(groups: npt.NDArray[np.uint8], width: int, count: int) -> pa.BinaryArray:
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(groups)])
