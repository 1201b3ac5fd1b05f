"""Makes Arrow arrays from byte fields that lie scattered in one buffer. Pure; it makes no Python object per field.

A field is a place and a length in the buffer; a length below 0 is null. The buffer ends with `PADDING` spare bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PADDING = 32
_SHORT = 32
_INLINE = 12
_KEPT = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.uint32)
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fields:
    """Holds one column: the place and the length of each row's value in `buffer`; the length -1 is null."""

    buffer: bytearray
    at: Places
    size: Places

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, rows: slice) -> Fields:
        return Fields(self.buffer, self.at[rows], self.size[rows])

    def without(self, rows: Iterable[int]) -> Fields:
        """Return the fields with these rows null."""
        size = self.size.copy()
        size[list(rows)] = -1
        return Fields(self.buffer, self.at, size)

    def octets(self, row: int) -> bytes | None:
        """Return one row's bytes."""
        at, size = int(self.at[row]), int(self.size[row])
        return None if size < 0 else bytes(self.buffer[at : at + size])

    def binary(self) -> pa.Array:
        """Return the bytes as they are."""
        return self._array(pa.binary())

    def text(self) -> pa.Array:
        """Return the bytes as text. pa.ArrowInvalid: they are not UTF-8."""
        array = self._array(pa.string())
        array.validate(full=True)
        return array

    def ascii(self) -> pa.Array:
        """Return the bytes as text that is known to be ASCII: numbers and dates of a server."""
        return self._array(pa.string())

    def _array(self, kind: pa.DataType) -> pa.Array:
        nulls = self.size < 0
        valid = None if not nulls.any() else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
        size = np.maximum(self.size, 0) if valid is not None else self.size
        longest = int(size.max(initial=0))
        if longest > _SHORT:
            buffers = [valid, pa.py_buffer(self._views(size)), pa.py_buffer(self.buffer)]
            return pa.Array.from_buffers(pa.binary_view(), len(size), buffers).cast(pa.binary()).view(kind)
        offsets = np.zeros(len(size) + 1, np.int32)
        np.cumsum(size, out=offsets[1:])
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(self._short(size, longest))]
        return pa.Array.from_buffers(kind, len(size), buffers)

    def _short(self, size: Places, longest: int) -> Any:
        if longest == 0:
            return b""
        octets = np.frombuffer(self.buffer, np.uint8)
        taken = np.ndarray((len(octets) - longest + 1, longest), np.uint8, octets, 0, (1, 1))[self.at]
        return taken if int(size.min()) == longest else taken[np.arange(longest) < size[:, None]]

    def _views(self, size: Places) -> npt.NDArray[np.uint32]:
        # Source: Arrow's columnar format, "Variable-size Binary View Layout": 12 bytes inline, or 4 and the place.
        words = np.ndarray((len(self.buffer) - 3,), "<u4", self.buffer, 0, (1,))
        views = np.zeros((len(size), 4), np.uint32)
        views[:, 0] = size
        views[:, 1] = words[self.at]
        views[:, 3] = self.at
        inline = np.flatnonzero(size <= _INLINE)
        for word in range(3):
            octets = np.clip(size[inline] - 4 * word, 0, 4)
            views[inline, 1 + word] = words[self.at[inline] + 4 * word] & _KEPT[octets]
        return views


def counted_fields(buffer: bytearray, starts: Places, count: int) -> list[Fields]:
    """Return the fields of rows in MySQL's text protocol: length-encoded strings, one after the other.

    Source: MariaDB's protocol documentation, "Protocol data types", length-encoded integers.
    """
    octets = np.frombuffer(buffer, np.uint8)
    result = []
    at = starts
    for _ in range(count):
        size = octets[at].astype(np.int64)
        head: Any = 1
        if int(size.max(initial=0)) >= 0xFB:
            size, head = _wide(buffer, at, size)
        result.append(Fields(buffer, at + head, size))
        at = at + head + np.maximum(size, 0)
    return result


def _wide(buffer: bytearray, at: Places, first: Places) -> tuple[Places, Places]:
    head = np.ones_like(first)
    size = np.where(first == 0xFB, -1, first)
    for mark, kind, octets in ((0xFC, "<u2", 2), (0xFD, "<u4", 3), (0xFE, "<u8", 8)):
        marked = np.flatnonzero(first == mark)
        if len(marked):
            numbers = np.ndarray((len(buffer) - 8,), kind, buffer, 1, (1,))[at[marked]].astype(np.int64)
            size[marked] = numbers & 0xFFFFFF if octets == 3 else numbers
            head[marked] = 1 + octets
    return size, head
