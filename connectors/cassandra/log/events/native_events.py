"""Makes the arrays of events by native code, which leaves unusual mutations to its Python twin (`update_events.py`)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from connectors.cassandra.cql.pages import Cells
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events.event_arrays import NONE, ColumnChanges, EventArrays, Marks, Ranges, Times
from connectors.cassandra.log.segments.segment import Frames, Ints

_ID_SIZE = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """Holds the node's tables in the form that native code reads, which skips changes of tables not watched."""

    data: bytes
    watched: Sequence[UUID]
    """It holds the ids of the watched tables, in the order of the arrays that native code makes."""

    @classmethod
    def of(cls, watched: Iterable[Table], others: Iterable[UUID]) -> Plan:
        """Return the plan for these tables. ValueError: a table is too large for native code."""
        tables, left_out = list(watched), [table_id.bytes + bytes(7) for table_id in others]
        parts = [struct.pack(">I", len(tables) + len(left_out)), *map(_table, tables), *left_out]
        return cls(b"".join(parts), [table.id for table in tables])


class Gathered(NamedTuple):
    """Holds the events of each table that has some. `odd` are the indices of mutations that are left to Python."""

    events: dict[UUID, EventArrays]
    odd: Ints


def gather(native: ModuleType, frames: Frames, plan: Plan) -> Gathered:
    """Return the events of mutations, in their order."""
    starts, sizes = np.ascontiguousarray(frames.starts), np.ascontiguousarray(frames.sizes)
    odd, tables = native.gather(frames.data, starts, sizes, frames.version, plan.data)
    # Not strict: the tables that are left out come last.
    found = zip(plan.watched, tables, strict=False)
    return Gathered({table_id: _events(made, frames) for table_id, made in found if made is not None}, _ints(odd))


def _table(table: Table) -> bytes:
    parts = [table.id.bytes, struct.pack(">BHH", 1, len(table.partition_key), len(table.clustering))]
    parts += [_size(column) for column in table.clustering]
    parts.append(struct.pack(">H", len(table.value_types)))
    # The columns of the events first, in their order; then those that were dropped.
    own = dict.fromkeys(column.name for column in (*table.static, *table.regular))
    for name in {**own, **table.value_types}:
        column = TableColumn(name, table.value_types[name])
        text = name.encode()
        parts += [struct.pack(">H", len(text)), text, bytes([column.type.is_multicell, name in own]), _size(column)]
        parts.append(struct.pack(">q", table.dropped_us.get(name, NONE)))
    return b"".join(parts)


def _size(column: TableColumn) -> bytes:
    size = column.type.fixed_size
    return struct.pack(">I", 0 if size is None else size + 1)


def _ints(data: bytes) -> Ints:
    return np.frombuffer(data, np.int64)


def _events(made: Any, frames: Frames) -> EventArrays:
    """Return the events from the arrays, which come in the order of gathered.cpp."""
    numbers, operations, writetimes, ids, keys, clusterings, *marks, ranges, columns = made
    count = len(operations)
    offsets = np.arange(0, _ID_SIZE * (count + 1), _ID_SIZE, dtype=np.int32)
    return EventArrays(
        operations=np.frombuffer(operations, np.uint8),
        writetimes_us=_ints(writetimes),
        ids=pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(ids)),
        keys=_cells(frames.data, keys),
        clusterings=_cells(frames.data, clusterings),
        columns=[_changes(frames.data, *column) for column in columns],
        livenesses=_marks(*marks[:4]),
        deletions=_marks(*marks[4:]),
        ranges=_ranges(frames.data, ranges),
        segments=np.full(count, frames.segment, np.int64),
        positions=frames.ends[_ints(numbers)],
    )


def _cells(data: bytes, columns: Sequence[bytes]) -> list[Cells]:
    return [Cells(data, _ints(starts), _ints(sizes)) for starts, sizes in zip(columns[::2], columns[1::2], strict=True)]


def _marks(rows: bytes, *times: bytes) -> Marks:
    return Marks(_ints(rows), _times(*times))


def _ranges(data: bytes, made: Any) -> Ranges:
    rows, common, sizes, are_inclusive, prefixes = made
    inclusive = np.frombuffer(are_inclusive, np.bool_)
    return Ranges(_ints(rows), _ints(common), _ints(sizes), inclusive, _cells(data, prefixes))


def _times(writetimes: bytes, ttls: bytes, locals_s: bytes) -> Times:
    return Times(_ints(writetimes), np.frombuffer(ttls, np.int32), _ints(locals_s))


def _changes(data: bytes, rows: bytes, cleared: bytes, ends: bytes, *arrays: bytes) -> ColumnChanges:
    path_starts, path_sizes, starts, sizes, *times = arrays
    return ColumnChanges(
        _ints(rows),
        Cells(data, _ints(starts), _ints(sizes)),
        _times(*times),
        _ints(cleared),
        _ints(ends),
        Cells(data, _ints(path_starts), _ints(path_sizes)),
    )
