"""Writes mutations as a node does, for changes that none of the recorded segments has.

Source: Mutation, PartitionUpdate, UnfilteredSerializer, Cell.Serializer and Columns.Serializer of Cassandra 4.0 to 5.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from segment_writer import frame

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events.mutation import (
    Cell,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)
from connectors.cassandra.log.segments.segment import Frames

EPOCH_US, EPOCH_S = 1_442_880_000_000_000, 1_442_880_000
NEVER = Deletion(-(2**63), 2**31 - 1)
Base = tuple[int, int, int]
"""Writetime, local time and time to live that the numbers of an update are counted from."""
START: Base = (EPOCH_US, EPOCH_S, 0)


def vint(value: int) -> bytes:
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            head = 0xFF << (8 - more) & 0xFF
            return (value | head << 8 * more).to_bytes(more + 1, "big")
    return b"\xff" + value.to_bytes(8, "big")


def vbytes(data: bytes) -> bytes:
    return vint(len(data)) + data


def mutation(updates: Sequence[PartitionUpdate], base: Base = START) -> bytes:
    return vint(len(updates)) + b"".join(_update(update, base) for update in updates)


def frames_of(bodies: Sequence[bytes], version: int = 8, segment: int = 1) -> Frames:
    """Mutations as they are read from a segment whose first frame begins at position 0."""
    framed = [frame(body) for body in bodies]
    ends = np.cumsum([len(data) for data in framed])
    sizes = np.array([len(body) for body in bodies], np.int64)
    return Frames(segment, version, b"".join(framed), ends - sizes - 4, sizes, ends)


def _update(update: PartitionUpdate, base: Base) -> bytes:
    table = update.table
    rows = [row for row in update.rows if isinstance(row, Row)]
    flags = 4 * (update.deletion is not None) | 8 * (update.static is not None)
    parts = [table.id.bytes, vbytes(update.key), bytes([flags])]
    parts += [_delta(base[0] - EPOCH_US, 64), _delta(base[1] - EPOCH_S, 64), _delta(base[2], 32)]
    static_columns = [] if update.static is None else _columns(table, [update.static])
    columns = _columns(table, rows)
    if update.static is not None:
        parts.append(_names(static_columns))
    parts.append(_names(columns))
    if update.deletion is not None:
        parts.append(_deletion(update.deletion, base))
    if update.static is not None:
        parts += _row(update.static, static_columns, base, b"\x01")
    for row in update.rows:
        parts += (
            _marker(row, table, base) if isinstance(row, Marker) else _row(row, columns, base, b"", table.clustering)
        )
    return b"".join([*parts, b"\x01"])


def _columns(table: Table, rows: Iterable[Row]) -> list[tuple[str, CqlType]]:
    names = {name for row in rows for name in row.columns}
    found = [(name, table.value_types[name]) for name in names]
    return sorted(found, key=lambda column: (column[1].is_multicell, column[0].encode()))


def _names(columns: Sequence[tuple[str, CqlType]]) -> bytes:
    return vint(len(columns)) + b"".join(vbytes(name.encode()) for name, _ in columns)


def _row(
    row: Row,
    columns: Sequence[tuple[str, CqlType]],
    base: Base,
    extended: bytes,
    clustering: Sequence[TableColumn] = (),
) -> list[bytes]:
    changes = row.columns.values()
    live, is_whole = row.liveness, len(row.columns) == len(columns)
    has_cleared = any(isinstance(change, ComplexColumn) and change.deletion is not None for change in changes)
    flags = 4 * (live is not None) | 8 * (live is not None and live.ttl_s is not None) | 16 * (row.deletion is not None)
    flags |= 32 * is_whole | 64 * has_cleared | 128 * bool(extended)
    parts = [bytes([flags]), extended, _clustering(row.clustering, clustering)]
    if live is not None:
        parts.append(_delta(live.writetime_us - base[0], 64))
        if live.ttl_s is not None:
            parts += [_delta(live.ttl_s - base[2], 32), _delta((live.expires_s or 0) - base[1], 32)]
    if row.deletion is not None:
        parts.append(_deletion(row.deletion, base))
    if not is_whole:
        parts.append(_subset([name in row.columns for name, _ in columns]))
    for name, kind in columns:
        change = row.columns.get(name)
        if isinstance(change, ComplexColumn):
            cleared = _deletion(change.deletion or NEVER, base) if has_cleared else b""
            parts += [cleared, vint(len(change.cells)), *(_cell(cell, None, live, base) for cell in change.cells)]
        elif change is not None:
            parts.append(_cell(change, kind.fixed_size, live, base))
    return parts


def _subset(present: Sequence[bool]) -> bytes:
    total, count = len(present), sum(present)
    if total < 64:
        return vint(sum(1 << i for i, is_there in enumerate(present) if not is_there))
    listed = [i for i, is_there in enumerate(present) if is_there == (count < total // 2)]
    return vint(total - count) + b"".join(map(vint, listed))


def _cell(cell: Cell, size: int | None, live: Liveness | None, base: Base) -> bytes:
    has_row_time = live is not None and live.writetime_us == cell.writetime_us
    has_row_ttl = (
        live is not None and cell.ttl_s is not None and (live.ttl_s, live.expires_s) == (cell.ttl_s, cell.local_s)
    )
    is_tombstone = cell.value is None
    flags = is_tombstone | 2 * (cell.ttl_s is not None) | 4 * (not cell.value) | 8 * has_row_time | 16 * has_row_ttl
    parts = [bytes([flags])]
    if not has_row_time:
        parts.append(_delta(cell.writetime_us - base[0], 64))
    if not has_row_ttl:
        if is_tombstone or cell.ttl_s is not None:
            parts.append(_delta((cell.local_s or 0) - base[1], 32))
        if cell.ttl_s is not None:
            parts.append(_delta(cell.ttl_s - base[2], 32))
    if cell.path is not None:
        parts.append(vbytes(cell.path))
    if cell.value:
        parts.append(cell.value if size is not None else vbytes(cell.value))
    return b"".join(parts)


def _marker(marker: Marker, table: Table, base: Base) -> list[bytes]:
    bound = marker.bound
    ended = [marker.end or NEVER] if bound.is_boundary or not bound.is_start else []
    deletions = [*ended, marker.start or NEVER] if bound.is_start else ended
    head = bytes([2, bound.value]) + len(marker.prefix).to_bytes(2, "big")
    return [head, _clustering(marker.prefix, table.clustering), *(_deletion(deletion, base) for deletion in deletions)]


def _clustering(values: Sequence[bytes | None], columns: Sequence[TableColumn]) -> bytes:
    parts = []
    for begin in range(0, len(values), 32):
        some = values[begin : begin + 32]
        parts.append(vint(sum((1 if value == b"" else 2 * (value is None)) << 2 * i for i, value in enumerate(some))))
        for value, column in zip(some, columns[begin:], strict=False):
            if value:
                parts.append(value if column.type.fixed_size is not None else vbytes(value))
    return b"".join(parts)


def _deletion(deletion: Deletion, base: Base) -> bytes:
    return _delta(deletion.writetime_us - base[0], 64) + _delta(deletion.local_s - base[1], 32)


def _delta(value: int, bits: int) -> bytes:
    return vint(value & (1 << bits) - 1)
