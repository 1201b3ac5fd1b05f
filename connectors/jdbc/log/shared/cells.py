"""Keeps the values of a column as places in one buffer: NumPy finds the places, and Arrow gathers the bytes. Pure.

No Python object is made per row: each step reads one field of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connect.api.errors import ConnectError

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
BYTES_AT_MOST: Final = 32 << 20
"""A chunk of rows ends with the row that makes it larger than this."""
PADDING: Final = b"\0" * 8
"""A buffer ends with this, so that a number may be read at every place of its content."""

NULL, UNCHANGED, TEXT = ord("n"), ord("u"), ord("t")


@dataclass(frozen=True, slots=True)
class Cells:
    """Holds the values of one column by their places in a buffer.

    For each row, `kind` is n (null), u (the log does not hold the value) or t (text), `start` is the place of the value
    and `size` its number of bytes. The places ascend.
    """

    kind: Bytes
    start: Places
    size: Places

    def take(self, rows: Any) -> Cells:
        """Return these rows, given as a mask or as ascending indices."""
        return Cells(self.kind[rows], self.start[rows], self.size[rows])

    def filled(self, rows: Mask, other: Cells) -> Cells:
        """Return the column with these rows taken from `other`, which is a column of the same buffer.

        The places of `other` lie before the first or behind the last place of this column.
        """
        kind, start, size = self.kind.copy(), self.start.copy(), self.size.copy()
        kind[rows], start[rows], size[rows] = other.kind, other.start, other.size
        return Cells(kind, start, size)


class Buffer:
    """Holds bytes, and reads the numbers in them. Immutable."""

    def __init__(self, content: bytes) -> None:
        """Take `content` without padding."""
        self._padded = content + PADDING
        self.bytes: Bytes = np.frombuffer(self._padded, np.uint8)
        self.arrow = pa.py_buffer(self._padded)

    def numbers(self, kind: str, at: Places) -> npt.NDArray[Any]:
        """Return the big-endian numbers of a NumPy kind (`>u4`) at these places."""
        width = np.dtype(kind).itemsize
        if not len(at):
            return np.empty(0, kind).astype(kind[1:])
        view = np.ndarray((len(self._padded) - width + 1,), kind, self._padded, strides=(1,))
        return view[at].astype(kind[1:])

    def text_bytes(self, at: int) -> bytes:
        """Return the bytes from a place up to the zero that ends a text. ValueError: there is none."""
        return self._padded[at : self._padded.index(0, at)]

    def tuples(self, at: Places, columns: int) -> tuple[list[Cells], Places]:
        """Read pgoutput's TupleData behind its column count. Return cells per column, and where each row ends."""
        if not len(at):
            return [Cells(np.empty(0, np.uint8), at, at)] * columns, at
        found = []
        for _ in range(columns):
            kind = self.bytes[at]
            holds = kind == TEXT
            # For cells without a length this reads other bytes, and the mask ignores the result.
            size = np.where(holds, self.numbers(">u4", at + 1).astype(np.int64), 0)
            start = at + np.where(holds, 5, 1)
            found.append(Cells(kind, start, size))
            at = start + size
        return found, at

    def copied(self, at: Places, columns: int) -> tuple[list[Cells], Places]:
        """Read COPY's binary rows behind their column count. Return cells per column, and where each row ends."""
        found = []
        for _ in range(columns):
            size = self.numbers(">i4", at).astype(np.int64)
            kind = np.where(size < 0, NULL, TEXT).astype(np.uint8)
            start, size = at + 4, np.maximum(size, 0)
            found.append(Cells(kind, start, size))
            at = start + size
        return found, at

    def values(self, columns: Sequence[Cells]) -> list[pa.BinaryArray]:
        """Return the values of columns of the same rows as bytes; null where the kind is not text.

        ConnectError: a value reaches beyond the buffer.
        """
        rows = len(columns[0].start) if columns else 0
        if not rows:
            return [pa.array([], pa.binary()) for _ in columns]
        count, content_bytes = rows * len(columns), len(self._padded) - len(PADDING)
        # Every second element lies between two values, so that offsets into the buffer need no copy before the gather.
        offsets = np.zeros(2 * count + 1, np.int32)
        between = offsets[1:].reshape(rows, 2 * len(columns))
        wanted = np.empty((len(columns), rows), np.int64)
        missing = np.empty((len(columns), rows), np.bool_)
        for number, cells in enumerate(columns):
            ends = cells.start + cells.size
            # Arrow does not check the sizes: with a wrong size from the server it would read memory behind the buffer.
            if ends.max() > content_bytes:
                raise ConnectError("The server sends a value that reaches beyond its row.")
            between[:, 2 * number] = cells.start
            between[:, 2 * number + 1] = ends
            missing[number] = cells.kind != TEXT
            wanted[number] = np.arange(2 * number + 1, 2 * count, 2 * len(columns))
        everything = pa.BinaryArray.from_buffers(
            pa.binary(), 2 * count, [None, pa.py_buffer(offsets), self.arrow], null_count=0
        )
        # One gather for all columns: for few rows a call costs more than what it moves.
        found = everything.take(pa.array(wanted.ravel(), mask=missing.ravel() if missing.any() else None))
        return [found.slice(number * rows, rows) for number in range(len(columns))]
