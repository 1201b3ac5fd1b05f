"""Finds the places of values in the rows of a binary log. Python reads the lengths of values, NumPy does the rest.

A row begins with a bit for each column, which is set for null; then the values that are not null follow. Pure.
Source: MariaDB's documentation of the binary log, "Rows_event".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from connect.api.errors import ConnectError
from connectors.jdbc.values.byte_fields import PADDING, Fields

Places = npt.NDArray[np.int64]
_NO_ROW = "The binary log holds a row that does not have the columns the log said."
_MANY = 32
"""With this many events or more it costs less to read all of them side by side by NumPy."""


@dataclass(frozen=True, slots=True)
class Width:
    """Tells how long a column's values are: `fixed` bytes, or a length that is in the `prefix` bytes before each."""

    fixed: int = 0
    prefix: int = 0


@dataclass(frozen=True, slots=True)
class _Shape:
    """Describes rows in which the same columns are null; `present` are the indices of the other columns.

    `steps` has two numbers for each value with a length: the bytes before the length, and the bytes of the length
    itself. `tail` is the number of bytes behind the last one.
    """

    number: int
    present: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    tail: int


@dataclass(frozen=True, slots=True)
class _Found:
    """Holds the places where rows begin, the number of each row's shape, and the places of the lengths in the rows."""

    starts: list[int] = field(default_factory=list)
    shapes: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Images:
    """Holds rows of many events by the places of their values in one buffer. `per_event` counts each event's rows."""

    columns: Sequence[Fields]
    per_event: Places

    def take(self, rows: Places) -> list[Fields]:
        """Return the columns of the rows with these indices."""
        return [Fields(c.buffer, c.at[rows], c.size[rows]) for c in self.columns]


class RowLayout:
    """Finds the values of rows with columns of these widths."""

    def __init__(self, widths: Sequence[Width]) -> None:
        self._widths = tuple(widths)
        self._bits = (len(widths) + 7) // 8
        self._shapes: dict[bytes, _Shape] = {}

    def images(self, parts: Sequence[bytes]) -> Images:
        """Return the rows of `parts`, the bytes of one event each. ConnectError: a part ends inside of a row."""
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        buffer = bytearray(b"".join(parts))
        ends = np.cumsum(sizes)
        if len(parts) >= _MANY and self._bits < 8:
            return self._side_by_side(buffer + bytes(PADDING), ends - sizes, ends)
        found = _Found()
        counts = [0]
        for at, end in pairwise([0, *ends.tolist()]):
            self._walk(buffer, at, end, found)
            counts.append(len(found.starts))
        buffer += bytes(PADDING)
        totals = np.array(counts, np.int64)
        return Images(self._fields(buffer, found), totals[1:] - totals[:-1])

    def _side_by_side(self, buffer: bytearray, starts: Places, ends: Places) -> Images:
        """Return the first rows of all events, then their second ones, and so on; each step reads one field of all."""
        at, events = starts.copy(), np.flatnonzero(starts < ends)
        rounds: list[tuple[Places, list[Places], list[Places]]] = []
        try:
            while len(events):
                places, row_sizes, at[events] = self._round(buffer, at[events])
                rounds.append((events, places, row_sizes))
                events = events[at[events] < ends[events]]
        except IndexError:
            at = ends + 1
        if (at != ends).any():
            raise ConnectError(_NO_ROW)
        if not rounds:
            return Images(self._fields(buffer, _Found()), np.zeros(len(starts), np.int64))
        event = np.concatenate([found for found, _, _ in rounds])
        order = np.argsort(event, kind="stable")
        fields = [
            Fields(buffer, *(np.concatenate([round_[part][i] for round_ in rounds])[order] for part in (1, 2)))
            for i in range(len(self._widths))
        ]
        return Images(fields, np.bincount(event, minlength=len(starts)))

    def _round(self, buffer: bytearray, at: Places) -> tuple[list[Places], list[Places], Places]:
        """Find the places and sizes of the values of one row of each event, and return where the next rows begin."""
        nulls = numbers(buffer, self._bits, at)
        some = int(np.bitwise_or.reduce(nulls))
        at = at + self._bits
        places, sizes = [], []
        for i, width in enumerate(self._widths):
            size = numbers(buffer, width.prefix, at) if width.prefix else np.full(len(at), width.fixed, np.int64)
            start = at + width.prefix
            if some >> i & 1:
                null = (nulls >> i & 1).astype(np.bool_)
                at = np.where(null, at, start + size)
                size[null] = -1
            else:
                at = start + size
            places.append(start)
            sizes.append(size)
        return places, sizes, at

    def _walk(self, buffer: bytearray, at: int, end: int, found: _Found) -> None:
        bits, shapes, add = self._bits, self._shapes, found.lengths.append
        try:
            while at < end:
                found.starts.append(at)
                shape = shapes.get(key := bytes(buffer[at : at + bits])) or self._shape(key)
                found.shapes.append(shape.number)
                at += bits
                for skip, prefix in shape.steps:
                    at += skip
                    add(at)
                    size = buffer[at] if prefix == 1 else int.from_bytes(buffer[at : at + prefix], "little")
                    at += prefix + size
                at += shape.tail
        except IndexError:
            at = -1
        if at != end:
            raise ConnectError(_NO_ROW)

    def _shape(self, key: bytes) -> _Shape:
        nulls = int.from_bytes(key, "little")
        present = tuple(i for i in range(len(self._widths)) if not nulls >> i & 1)
        steps, skip = [], 0
        for width in (self._widths[i] for i in present):
            if width.prefix:
                steps.append((skip, width.prefix))
                skip = 0
            else:
                skip += width.fixed
        made = self._shapes[key] = _Shape(len(self._shapes), present, tuple(steps), skip)
        return made

    def _fields(self, buffer: bytearray, found: _Found) -> list[Fields]:
        starts, numbers = np.array(found.starts, np.int64), np.array(found.shapes, np.int64)
        places = np.array(found.lengths, np.int64)
        shapes = list(self._shapes.values())
        per_row = np.array([len(shape.steps) for shape in shapes] or [0], np.int64)[numbers]
        first = np.cumsum(per_row) - per_row
        fields = [Fields(buffer, starts.copy(), np.full(len(starts), -1, np.int64)) for _ in self._widths]
        for number in np.unique(numbers).tolist():
            rows = np.flatnonzero(numbers == number)
            steps = len(shapes[number].steps)
            lengths = places[first[rows][:, None] + np.arange(steps)]
            self._fill([fields[i] for i in shapes[number].present], shapes[number], rows, lengths)
        return fields

    def _fill(self, fields: Sequence[Fields], shape: _Shape, rows: Places, lengths: Places) -> None:
        """Fill in the fields of the rows of one shape. `lengths` has the places of the lengths in each row."""
        at = fields[0].at[rows] + self._bits if fields else rows
        step = 0
        for column, values in zip(shape.present, fields, strict=True):
            width = self._widths[column]
            size: Any = width.fixed
            if width.prefix:
                at = lengths[:, step] + width.prefix
                size = numbers(values.buffer, width.prefix, lengths[:, step])
                step += 1
            values.at[rows], values.size[rows] = at, size
            at = at + size


def numbers(buffer: bytearray, octets: int, at: Places, *, order: str = "<") -> Places:
    """Return the unsigned numbers of up to 8 bytes at these places. Those of 8 bytes must be less than 2^63."""
    if octets == 1:
        return np.frombuffer(buffer, np.uint8)[at].astype(np.int64)
    width = 2 if octets == 2 else 4 if octets <= 4 else 8
    view = np.ndarray((len(buffer) - width + 1,), f"{order}u{width}", buffer, strides=(1,))
    found = view[at].astype(np.uint64)
    if octets == width:
        return found.astype(np.int64)
    spare = np.uint64(8 * (width - octets))
    shifted = found >> spare if order == ">" else found & np.uint64((1 << 8 * octets) - 1)
    return shifted.astype(np.int64)
