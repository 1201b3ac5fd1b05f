"""Reads many byte strings at once, one value of each per step. Pure.

Rows that do not hold what is read are noted in `failures` and go on with zeros, so that the others are not disturbed;
the caller reads the good rows again without them, or rejects them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Unsigned = npt.NDArray[np.uint64]

_PADDING: Final = 16
_CONTINUED: Final = np.uint64(0x8080808080808080)
_ONE: Final = np.uint64(1)
_TRUNCATED: Final = "the data ends too early"
_FOLDS: Final = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)

if sys.byteorder != "little":
    raise ImportError("connect.convert.vectors reads little-endian words; this machine is big-endian.")


class Cursor:
    """Stands at the next byte to read of each row. Owned by one task thread."""

    __slots__ = ("_raw", "_words", "at", "end", "failures", "rows")

    def __init__(
        self, raw: npt.NDArray[np.uint8], at: Positions, end: Positions, rows: Positions, failures: dict[int, str]
    ) -> None:
        self._raw = raw
        self._words = np.ndarray((len(raw) - 7,), "<u8", raw.data, strides=(1,))
        self.at = at
        self.end = end
        self.rows = rows
        self.failures = failures

    @classmethod
    def over(cls, data: pa.BinaryArray, skip: int = 0) -> Self:
        """Return a cursor over an array without nulls, `skip` bytes into every row (which must be there)."""
        size = len(data)
        _, offsets_buffer, values = data.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int32)[data.offset : data.offset + size + 1].astype(np.int64)
        first = int(offsets[0]) if size else 0
        used = int(offsets[-1]) - first if size else 0
        raw = np.zeros(used + _PADDING, np.uint8)
        if used:
            raw[:used] = np.frombuffer(values, np.uint8)[first : first + used]
        offsets -= first
        return cls(raw, offsets[:-1] + skip, offsets[1:].copy(), np.arange(size), {})

    def __len__(self) -> int:
        return len(self.at)

    def part(self, places: Positions | Mask) -> Cursor:
        """Return a cursor over some of the rows; `rejoin` brings its progress back."""
        return Cursor(self._raw, self.at[places], self.end[places], self.rows[places], self.failures)

    def rejoin(self, part: Cursor, places: Positions | Mask) -> None:
        """Go on in these rows where the part stopped."""
        self.at[places] = part.at

    def within(self, start: Positions, end: Positions) -> Cursor:
        """Return a cursor over a stretch of each row."""
        return Cursor(self._raw, start, end, self.rows, self.failures)

    def items(self, width: int) -> tuple[Cursor, Positions]:
        """Return a cursor at each of the numbers that fill the rows, and the place of each one's row.

        They are `width` bytes long each, or varints for 0.
        """
        lengths = self.end - self.at
        places = np.repeat(np.arange(len(self)), lengths)
        into = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = self.at[places] + into
        begins = into % width == 0 if width else (into == 0) | (self._raw[at - 1] < 0x80)
        places = places[begins]
        return Cursor(self._raw, at[begins], self.end[places], self.rows[places], self.failures), places

    def fail(self, bad: Mask, reason: str) -> None:
        """Note bad rows; what they still hold is skipped."""
        for row in self.rows[bad]:
            self.failures.setdefault(int(row), reason)
        self.at[bad] = self.end[bad]

    def fail_all(self, reason: str) -> None:
        """Note all rows as bad; what they still hold is skipped."""
        self.fail(np.ones(len(self), np.bool_), reason)

    def expect_end(self) -> None:
        """Fail each row that was not read to its end."""
        left = self.at != self.end
        if left.any():
            self.fail(left, "data is left over after the value")

    def varints(self) -> Unsigned:
        """Read the next base-128 number of each row (at most 64 bits)."""
        words = self._words[self.at]
        stops = ~words & _CONTINUED
        lowest = stops & (~stops + _ONE)
        low_bits = lowest - _ONE
        lengths = (np.bitwise_count(low_bits).astype(np.int64) >> 3) + 1
        numbers = words & low_bits & ~_CONTINUED
        for low, high, shift in _FOLDS:
            numbers = (numbers & low) | ((numbers & high) >> shift)
        long = stops == 0
        if long.any():
            self._long_varints(numbers, lengths, np.nonzero(long)[0])
        self.at = self.at + lengths
        self._check_end(numbers)
        return numbers

    def signed_varints(self) -> Positions:
        """Read the next zigzag number of each row."""
        folded = self.varints()
        return (folded >> _ONE).view(np.int64) ^ -(folded & _ONE).view(np.int64)

    def bytes(self) -> npt.NDArray[np.uint8]:
        """Read the next byte of each row."""
        values = self._raw[self.at]
        self.at = self.at + 1
        self._check_end(values)
        return values

    def fixed(self, width: int, target: pa.DataType) -> pa.Array:
        """Read the next number of fixed width (4 or 8 bytes, little-endian) of each row."""
        words = self._words[self.at]
        self.at = self.at + width
        self._check_end(words)
        narrowed = words if width == 8 else words.astype(np.uint32)
        return pa.Array.from_buffers(target, len(self), [None, pa.py_buffer(narrowed)])

    def take_bytes(self, lengths: Positions) -> pa.BinaryArray:
        """Read the next `lengths` bytes of each row, as an array."""
        starts = self.skip(lengths)
        # Rows follow each other in the buffer, so values and the gaps between them are one array of strings.
        bounds = np.empty(2 * len(self) + 1, np.int64)
        bounds[0:-1:2], bounds[1::2] = starts, self.at
        bounds[-1] = bounds[-2] if len(self) else 0
        both = pa.Array.from_buffers(
            pa.large_binary(), 2 * len(self), [None, pa.py_buffer(bounds), pa.py_buffer(self._raw)]
        )
        return both.take(pa.array(np.arange(0, 2 * len(self), 2))).cast(pa.binary())

    def skip(self, lengths: Positions) -> Positions:
        """Go `lengths` bytes on in each row, and say where each stood. Lengths that do not fit fail their row."""
        bad = (lengths < 0) | (lengths > self.end - self.at)
        if bad.any():
            self.fail(bad, _TRUNCATED)
            lengths = np.where(bad, 0, lengths)
        starts = self.at
        self.at = starts + lengths
        return starts

    def _check_end(self, values: npt.NDArray[np.unsignedinteger]) -> None:
        over = self.at > self.end
        if over.any():
            self.fail(over, _TRUNCATED)
            values[over] = 0

    def _long_varints(self, numbers: Unsigned, lengths: Positions, places: Positions) -> None:
        """Read the numbers of nine and ten groups, of which a word holds eight."""
        at = self.at[places]
        words = self._words[at] & ~_CONTINUED
        for low, high, shift in _FOLDS:
            words = (words & low) | ((words & high) >> shift)
        ninth, tenth = self._raw[at + 8].astype(np.uint64), self._raw[at + 9].astype(np.uint64)
        words |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        has_tenth = ninth >= 0x80
        words |= np.where(has_tenth, tenth << np.uint64(63), np.uint64(0))
        numbers[places] = words
        lengths[places] = np.where(has_tenth, 10, 9)
        too_long = has_tenth & (tenth > 1)
        if too_long.any():
            bad = np.zeros(len(self), np.bool_)
            bad[places[too_long]] = True
            self.fail(bad, "a number has more than 64 bits")
            numbers[bad] = 0
            lengths[bad] = 0


def text_of(data: pa.BinaryArray, cursor: Cursor) -> pa.StringArray:
    """Return the bytes as text; rows that are not UTF-8 fail."""
    try:
        return data.cast(pa.utf8())
    except pa.ArrowInvalid:
        return _per_value(data, pa.utf8(), lambda value: value.decode(), cursor, "a text is not UTF-8")


def _per_value(
    data: pa.Array, target: pa.DataType, convert: Callable[[bytes], object], cursor: Cursor, reason: str
) -> pa.Array:
    bad = np.zeros(len(cursor), np.bool_)
    values = []
    for place, value in enumerate(data.to_pylist()):
        try:
            values.append(convert(value))
        except ValueError:
            bad[place] = True
            values.append(convert(b""))
    cursor.fail(bad, reason)
    return pa.array(values, target)


def ordered_by_row(pieces: list[pa.Array], places: list[Positions], target: pa.DataType) -> pa.Array:
    """Return items that were read round by round in the order of their rows; `places` says the row of each item."""
    if not pieces:
        return pa.array([], target)
    items = pa.concat_arrays(pieces)
    if len(pieces) == 1:
        return items
    return items.take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def spread(values: pa.Array, places: Positions, size: int) -> pa.Array:
    """Return an array of `size` rows that has the values at these places and null at the others."""
    if len(places) == size:
        return values
    indices = np.zeros(size, np.int64)
    indices[places] = np.arange(len(places))
    missing = np.ones(size, np.bool_)
    missing[places] = False
    if not len(places):
        return pa.nulls(size, values.type)
    return values.take(pa.array(indices, mask=missing))
