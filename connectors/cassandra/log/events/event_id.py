"""Makes the id of a change, which is equal for its copies on all replicas, whatever else their mutations hold. Pure.

The log has no id, so this one is a digest of the change: table, key, cells with their writetimes, and when they expire:
a statement that is sent again with its writetime and its time to live lets its values live for longer. The local time
of a tombstone is left out, as a node may set it anew when it gets data streamed.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from uuid import UUID

from connectors.cassandra.log.events.mutation import Cell, Clustering, ComplexColumn, Deletion, Marker, Row

SIZE_BYTES: Final = 16
_CELL = struct.Struct(">qi")


class EventId:
    """Makes the ids of changes of one partition, as hexadecimal texts."""

    def __init__(self, table_id: UUID, key: bytes) -> None:
        self._start = blake2b(table_id.bytes + _sized(key), digest_size=SIZE_BYTES)

    def of_partition(self, deletion: Deletion) -> str:
        """Return the id of a deleted partition."""
        return self._digest([b"partition", _time(deletion.writetime_us)])

    def of_range(self, start: Marker, end: Marker) -> str:
        """Return the id of a deleted range."""
        assert end.end is not None
        bounds = [
            bytes([start.bound.includes_start, end.bound.includes_end]),
            *map(_clustering, (start.prefix, end.prefix)),
        ]
        return self._digest([b"range", *bounds, _time(end.end.writetime_us)])

    def of_row(self, op: str, row: Row) -> str:
        """Return the id of the changes of a row or of the static row."""
        parts = [op.encode(), _clustering(row.clustering)]
        if row.liveness is not None:
            parts += [b"live", _times(row.liveness.writetime_us, row.liveness.ttl_s, row.liveness.expires_s)]
        if row.deletion is not None:
            parts += [b"deleted", _time(row.deletion.writetime_us)]
        for name in sorted(row.columns):
            parts.append(_sized_name(name))
            change = row.columns[name]
            parts += [_cell(change)] if isinstance(change, Cell) else _complex(change)
        return self._digest(parts)

    def _digest(self, parts: list[bytes]) -> str:
        digest = self._start.copy()
        digest.update(b"".join(parts))
        return digest.hexdigest()


def _complex(change: ComplexColumn) -> list[bytes]:
    cleared = b"" if change.deletion is None else _time(change.deletion.writetime_us)
    cells = sorted(change.cells, key=lambda cell: cell.path or b"")
    return [_sized(cleared), *(_sized(cell.path or b"") + _cell(cell) for cell in cells)]


def _cell(cell: Cell) -> bytes:
    value = b"-" if cell.value is None else b"+" + _sized(cell.value)
    return _times(cell.writetime_us, cell.ttl_s, cell.local_s) + value


def _times(writetime_us: int, ttl_s: int | None, expires_s: int | None) -> bytes:
    times = _CELL.pack(writetime_us, ttl_s or 0)
    return times if ttl_s is None else times + _time(expires_s or 0)


def _clustering(values: Clustering) -> bytes:
    return b"".join(b"-" if value is None else b"+" + _sized(value) for value in values)


@lru_cache(10_000)
def _sized_name(name: str) -> bytes:
    return _sized(name.encode())


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _time(writetime_us: int) -> bytes:
    return writetime_us.to_bytes(8, "big", signed=True)
