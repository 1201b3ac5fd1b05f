"""Splits bytes into lines as Arrow columns.

A line ends with `\n`, `\r\n` or `\r`. Pure; no Python object per line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Lines:
    """Holds the lines of a block of bytes.

    `ends` (int64) has for each line the number of bytes from the block's start to the end of its terminator. `bad` has
    the bytes of lines that are not UTF-8, by index; the text of such a line is empty.
    """

    texts: pa.StringArray
    ends: pa.Int64Array
    bad: Mapping[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


def complete_size(data: bytes | bytearray, scanned: int = 0) -> int:
    """Return the size in bytes of the whole lines at the start of `data`, whose first `scanned` bytes hold no line end.

    A `\\r` at the very end ends no line yet: it may be the first half of `\\r\\n`.
    """
    newline = data.rfind(b"\n", scanned)
    lone_return = data.rfind(b"\r", max(scanned - 1, 0), max(len(data) - 1, 0))
    return max(newline, lone_return) + 1


def split_lines(block: bytes) -> Lines:
    """Return the lines of a block that ends with a terminator, at most 2 GiB."""
    returns = block.count(b"\r")
    if returns != block.count(b"\r\n"):
        # Each lone return becomes a newline. No position moves, and each return that is left is before a newline.
        block = _LONE_RETURN.sub(b"\n", block)
    pieces = pc.split_pattern(pa.array([block], pa.binary()), "\n").flatten()
    texts = pieces.slice(0, len(pieces) - 1)
    ends = pc.cumulative_sum(pc.add(pc.binary_length(texts).cast(pa.int64()), 1))
    texts, bad = _decoded(texts)
    if returns:
        texts, bad = pc.utf8_rtrim(texts, "\r"), {i: line.rstrip(b"\r") for i, line in bad.items()}
    return Lines(texts, ends, bad)


def _decoded(lines: pa.BinaryArray) -> tuple[pa.StringArray, Mapping[int, bytes]]:
    """Return the lines as text, and the bytes of lines that are no text. Only if some are bad, each is looked at."""
    try:
        return lines.cast(pa.string()), {}
    except pa.ArrowInvalid:
        bad = {i: line for i, line in enumerate(lines.to_pylist()) if not is_text(line)}
        good = pa.array([i not in bad for i in range(len(lines))])
        return pc.if_else(good, lines, pa.scalar(b"", pa.binary())).cast(pa.string()), bad


def is_text(line: bytes) -> bool:
    """Return True if the line is UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
