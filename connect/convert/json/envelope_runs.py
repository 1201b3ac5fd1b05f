"""Cuts enveloped rows into runs that share the bytes before their payload, comparing whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import SchemaError
from connect.convert.json.envelope import CLOSE, EnvelopeCache, Prefix

_MAX_COMPARED = 16
"""Beyond so many schemas in one batch, a comparison per row is cheaper than one per column."""
_OTHER = -1


@dataclass(frozen=True, slots=True)
class Run:
    """A run that covers rows start..stop-1. `prefix` None: rows of another form than Java writes, or all null."""

    start: int
    stop: int
    prefix: Prefix | None

    def __len__(self) -> int:
        return self.stop - self.start


def runs_of(data: pa.BinaryArray, cache: EnvelopeCache) -> Sequence[Run]:
    """Return the runs in order; a null row joins the run before it, or the one after it at the start."""
    if data.null_count == len(data):
        return [Run(0, len(data), None)]
    prefixes: list[Prefix] = []
    labels = _labels(data, cache, prefixes)
    filled = pc.fill_null_backward(pc.fill_null_forward(labels))
    encoded = pc.run_end_encode(filled, run_end_type=pa.int32())
    runs, start = [], 0
    for stop, label in zip(encoded.run_ends.to_pylist(), encoded.values.to_pylist(), strict=True):
        runs.append(Run(start, stop, None if label == _OTHER else prefixes[label]))
        start = stop
    return runs


def _labels(data: pa.BinaryArray, cache: EnvelopeCache, prefixes: list[Prefix]) -> pa.Int32Array:
    """Return the place of each row's prefix in `prefixes`, which is filled; null for null rows."""
    labels = pa.nulls(len(data), pa.int32())
    pending = data.is_valid()
    closed = pc.fill_null(pc.ends_with(data, CLOSE), False)
    while (first := pc.index(pending, True).as_py()) >= 0:
        prefix = _find(cache, data[first].as_py())
        if prefix is None or len(prefixes) == _MAX_COMPARED:
            return _labels_by_row(data, cache, prefixes)
        mask = pc.and_(pc.and_(pending, closed), pc.fill_null(pc.starts_with(data, prefix.text), False))
        labels = pc.if_else(mask, pa.scalar(len(prefixes), pa.int32()), labels)
        prefixes.append(prefix)
        pending = pc.and_not(pending, mask)
    return labels


def _labels_by_row(data: pa.BinaryArray, cache: EnvelopeCache, prefixes: list[Prefix]) -> pa.Int32Array:
    places = {prefix.text: i for i, prefix in enumerate(prefixes)}
    labels: list[int | None] = []
    for row in data.to_pylist():
        prefix = None if row is None else _find(cache, row)
        if prefix is None:
            labels.append(None if row is None else _OTHER)
            continue
        if prefix.text not in places:
            places[prefix.text] = len(prefixes)
            prefixes.append(prefix)
        labels.append(places[prefix.text])
    return pa.array(labels, pa.int32())


def _find(cache: EnvelopeCache, row: bytes) -> Prefix | None:
    """Return the prefix of a row; None for a row that the row path has to look at, be it to say what is wrong."""
    if not row.endswith(CLOSE):
        return None
    try:
        return cache.find(row)
    except (SchemaError, RecursionError):
        return None
