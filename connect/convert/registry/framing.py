"""Reads the frame of Confluent's serializers: a zero, the schema id in four bytes (big-endian), then the value.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import RejectedRowsError, SchemaError

MAGIC: Final = 0
SIZE: Final = 5


def frame(schema_id: int) -> bytes:
    """Return the bytes that stand before a value."""
    return bytes([MAGIC]) + schema_id.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class IdRun:
    """A run that covers rows start..stop-1 of one schema; `schema_id` None: no row has bytes."""

    start: int
    stop: int
    schema_id: int | None


def runs_by_id(data: pa.BinaryArray) -> Sequence[IdRun]:
    """Return runs of consecutive rows of equal schema id; null rows join the run before them, or the first one.

    RejectedRowsError names rows that have no frame.
    """
    lengths = pc.binary_length(data).fill_null(-1).to_numpy(zero_copy_only=False)
    present = lengths >= 0
    if not present.any():
        return [IdRun(0, len(data), None)] if len(data) else []
    heads = _heads(data, lengths)
    _check(data, lengths, heads)
    ids = heads[:, 1:].astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
    last = np.maximum.accumulate(np.where(present, np.arange(len(ids)), -1))
    ids = ids[np.where(last < 0, np.argmax(present), last)]
    cuts = [0, *(np.nonzero(np.diff(ids))[0] + 1).tolist(), len(ids)]
    return [IdRun(start, stop, int(ids[start])) for start, stop in pairwise(cuts)]


def _heads(data: pa.BinaryArray, lengths: np.ndarray) -> np.ndarray:
    """Return the first five bytes of every row, zeros where there are fewer."""
    offsets = np.frombuffer(data.buffers()[1], np.int32)[data.offset : data.offset + len(data)].astype(np.int64)
    values = data.buffers()[2]
    raw = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(SIZE, np.uint8)
    whole = lengths >= SIZE
    places = np.where(whole, offsets, 0)[:, None] + np.arange(SIZE)
    heads = raw[np.minimum(places, len(raw) - 1)]
    heads[~whole] = 0
    return heads


def _check(data: pa.BinaryArray, lengths: np.ndarray, heads: np.ndarray) -> None:
    bad = (lengths >= 0) & ((lengths < SIZE) | (heads[:, 0] != MAGIC))
    rows = np.nonzero(bad)[0]
    if len(rows):
        raise RejectedRowsError({int(row): SchemaError(_why(data[int(row)].as_py()), fix=_FIX) for row in rows})


_FIX: Final = "Use the converter that fits what was written, such as JsonConverter or StringConverter."


def _why(row: bytes) -> str:
    if row[:1] == b"\x00":
        return f"The record is {len(row)} bytes long, too short for the magic byte and a schema id."
    start = f"it starts with 0x{row[:8].hex()}" if row else "it is empty"
    return f"Unknown magic byte: the record was not written with a schema registry, {start}."
