"""Bytes -> lines as Arrow columns. A line ends with `\\n`, `\\r\\n` or `\\r`. Pure; no Python object per line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a block. `ends` (int64): for each the bytes from the block's start to behind its terminator."""

    texts: pa.StringArray
    ends: pa.Int64Array

    def __len__(self) -> int:
        return len(self.texts)


def complete_size(data: bytes | bytearray, scanned: int = 0) -> int:
    """The size in bytes of the whole lines at the start of `data`; its first `scanned` bytes are known to hold none.

    A `\\r` at the very end ends no line yet: it may be the first half of `\\r\\n`.
    """
    newline = data.rfind(b"\n", scanned)
    lone_return = data.rfind(b"\r", max(scanned - 1, 0), max(len(data) - 1, 0))
    return max(newline, lone_return) + 1


def split_lines(block: bytes) -> Lines:
    """The lines of a block that ends with a terminator, at most 2 GiB. UnicodeDecodeError where it is not UTF-8."""
    returns = block.count(b"\r")
    if returns != block.count(b"\r\n"):
        # A newline for each lone return: no position moves, and every return left stands before a newline.
        block = _LONE_RETURN.sub(b"\n", block)
    text = _text(block)
    pieces = pc.split_pattern(text, "\n").flatten()
    texts = pieces.slice(0, len(pieces) - 1)
    ends = pc.cumulative_sum(pc.add(pc.binary_length(texts).cast(pa.int64()), 1))
    return Lines(pc.utf8_rtrim(texts, "\r") if returns else texts, ends)


def _text(block: bytes) -> pa.StringArray:
    try:
        return pa.array([block], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        block.decode()  # says where, which Arrow does not
        raise
