"""Makes events of partition updates: one for each row, static row, range or partition that changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from connect.api.errors import SchemaError
from connect.api.records import Column
from connectors.cassandra.cql.pages import Cells
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.event_arrays import (
    NONE,
    OPERATIONS,
    ColumnChanges,
    EventArrays,
    Marks,
    Ranges,
    Times,
    cells_of,
    times_of,
)
from connectors.cassandra.log.events.event_columns import EventShape, Node, event_columns
from connectors.cassandra.log.events.event_id import EventId
from connectors.cassandra.log.events.mutation import (
    Cell,
    Clustering,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)


class Changes:
    """Collects the changes of one column."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._cells: list[Cell] = []
        self._cleared: list[int] = []
        self._ends: list[int] = []

    def add(self, row: int, change: Cell | ComplexColumn) -> None:
        """Add the change of an event, given by the event's index; these come in order."""
        self._rows.append(row)
        if isinstance(change, Cell):
            self._cells.append(change)
            return
        self._cells.extend(change.cells)
        self._cleared.append(NONE if change.deletion is None else change.deletion.writetime_us)
        self._ends.append(len(self._cells))

    def arrays(self) -> ColumnChanges:
        """Return all changes that were added."""
        paths = [cell.path for cell in self._cells] if self._ends else []
        return ColumnChanges(
            np.array(self._rows, np.int64),
            cells_of([cell.value for cell in self._cells]),
            times_of([(cell.writetime_us, cell.ttl_s, cell.local_s) for cell in self._cells]),
            np.array(self._cleared, np.int64),
            np.array(self._ends, np.int64),
            cells_of(paths),
        )


class Events:
    """Collects the events of one table. Owned by one thread."""

    def __init__(self, shape: EventShape, node: Node, *, row_op: str | None = None) -> None:
        """Take the table and its node. `row_op` is the operation of all rows; None: the update tells it."""
        self._shape = shape
        self._row_op = row_op
        self._node = node
        table = shape.table
        self._changes = {column.name: Changes() for column in (*table.static, *table.regular)}
        self._operations: list[int] = []
        self._writetimes: list[int] = []
        self._keys: list[Sequence[bytes]] = []
        self._clusterings: list[Clustering] = []
        self._ids: list[str] = []
        self._live: list[tuple[int, Liveness]] = []
        self._deleted: list[tuple[int, Deletion]] = []
        self._ranges: list[tuple[int, Marker, Marker]] = []
        self._places: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._operations)

    def add(self, update: PartitionUpdate, segment: int, position: int) -> None:
        """Add the events of an update, in the order in which they take effect on each other.

        SchemaError: the partition key does not have the columns of this table's key.
        """
        key = _parts(update.key, len(self._shape.table.partition_key))
        ids = EventId(self._shape.table.id, update.key)
        before = len(self)
        if update.deletion is not None:
            self._deleted.append((before, update.deletion))
            self._say("partition_delete", key, (), ids.of_partition(update.deletion), update.deletion.writetime_us)
        if update.static is not None:
            self._row("static", key, update.static, ids)
        begun: Marker | None = None
        for row in update.rows:
            if isinstance(row, Row):
                self._row(self._row_op or _operation(row), key, row, ids)
                continue
            if begun is not None and row.end is not None:
                self._range(key, begun, row, ids)
            begun = row if row.start is not None else None
        self._places.extend([(segment, position)] * (len(self) - before))

    def arrays(self) -> EventArrays:
        """Return all events that were added."""
        table: Table = self._shape.table
        segments, positions = np.array(self._places, np.int64).reshape(len(self), 2).T.copy()
        live = times_of([(mark.writetime_us, mark.ttl_s, mark.expires_s) for _, mark in self._live])
        deleted = times_of([(mark.writetime_us, None, mark.local_s) for _, mark in self._deleted])
        return EventArrays(
            operations=np.array(self._operations, np.uint8),
            writetimes_us=np.array(self._writetimes, np.int64),
            ids=pa.array(self._ids, pa.string()),
            keys=[cells_of([parts[i] for parts in self._keys]) for i, _ in enumerate(table.partition_key)],
            clusterings=_by_column(self._clusterings, len(table.clustering)),
            columns=[changes.arrays() for changes in self._changes.values()],
            livenesses=_marks([row for row, _ in self._live], live),
            deletions=_marks([row for row, _ in self._deleted], deleted),
            ranges=_ranges(self._ranges, len(table.clustering)),
            segments=segments,
            positions=positions,
        )

    def columns(self) -> tuple[Column, Column]:
        """Return the columns of keys and values.

        SchemaError: a value is not of its type, or is of a newer form of it.
        """
        return event_columns(self.arrays(), self._shape, self._node)

    def _say(self, op: str, key: Sequence[bytes], clustering: Clustering, event_id: str, writetime_us: int) -> None:
        self._operations.append(OPERATIONS.index(op))
        self._writetimes.append(writetime_us)
        self._keys.append(key)
        self._clusterings.append(clustering)
        self._ids.append(event_id)

    def _row(self, op: str, key: Sequence[bytes], row: Row, ids: EventId) -> None:
        number = len(self)
        if row.liveness is not None:
            self._live.append((number, row.liveness))
        if row.deletion is not None:
            self._deleted.append((number, row.deletion))
        for name, written in row.columns.items():
            # What a dropped column held is gone with it.
            column, dropped_us = self._changes.get(name), self._shape.table.dropped_us.get(name)
            change = written if dropped_us is None else _since(dropped_us, written)
            if column is not None and change is not None:
                column.add(number, change)
        self._say(op, key, row.clustering, ids.of_row(op, row), newest_us(row))

    def _range(self, key: Sequence[bytes], start: Marker, end: Marker, ids: EventId) -> None:
        assert end.end is not None
        self._deleted.append((len(self), end.end))
        self._ranges.append((len(self), start, end))
        self._say("range_delete", key, (), ids.of_range(start, end), end.end.writetime_us)


def composite(key: bytes) -> list[bytes]:
    """Return the values of a partition key of several columns: 2 bytes of length, the value, a zero byte."""
    found, at = [], 0
    while at < len(key):
        size = int.from_bytes(key[at : at + 2], "big")
        found.append(key[at + 2 : at + 2 + size])
        at += size + 3
    return found


def newest_us(row: Row) -> int:
    """Return the newest writetime of a row's changes, in microseconds; 0 if there are none."""
    times = [mark.writetime_us for mark in (row.liveness, row.deletion) if mark is not None]
    for change in row.columns.values():
        if isinstance(change, Cell):
            times.append(change.writetime_us)
            continue
        times.extend(cell.writetime_us for cell in change.cells)
        if change.deletion is not None:
            times.append(change.deletion.writetime_us)
    return max(times, default=0)


def _since(dropped_us: int, change: Cell | ComplexColumn) -> Cell | ComplexColumn | None:
    """Return what of a change is newer than the moment at which its column was dropped; None: nothing is."""
    if isinstance(change, Cell):
        return change if change.writetime_us > dropped_us else None
    cells = [cell for cell in change.cells if cell.writetime_us > dropped_us]
    cleared = change.deletion
    if cleared is not None and cleared.writetime_us <= dropped_us:
        cleared = None
    return ComplexColumn(cleared, cells) if cells or cleared is not None else None


def _marks(rows: Sequence[int], times: Times) -> Marks:
    return Marks(np.array(rows, np.int64), times)


def _ranges(found: Sequence[tuple[int, Marker, Marker]], columns: int) -> Ranges:
    prefixes = [marker.prefix for _, *bounds in found for marker in bounds]
    are_inclusive = [i for _, start, end in found for i in (start.bound.includes_start, end.bound.includes_end)]
    return Ranges(
        np.array([row for row, _, _ in found], np.int64),
        np.array([_common(start.prefix, end.prefix) for _, start, end in found], np.int64),
        np.array([len(prefix) for prefix in prefixes], np.int64),
        np.array(are_inclusive, np.bool_),
        _by_column(prefixes, columns),
    )


def _common(one: Clustering, other: Clustering) -> int:
    """Return the number of leading values that are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (left, right) in pairs if left != right), min(len(one), len(other)))


def _by_column(rows: Sequence[Clustering], columns: int) -> list[Cells]:
    """Return the values of the leading columns, null where a row has fewer."""
    return [cells_of([row[i] if i < len(row) else None for row in rows]) for i in range(columns)]


def _parts(key: bytes, columns: int) -> Sequence[bytes]:
    """Return the values of a partition key. SchemaError: the key is of another number of columns."""
    parts = (key,) if columns == 1 else composite(key)
    if len(parts) != columns:
        raise SchemaError(f"A partition key of {len(key)} bytes has {len(parts)} values instead of {columns}.")
    return parts


def _operation(row: Row) -> str:
    if row.deletion is not None and row.liveness is None and not row.columns:
        return "delete"
    return "update" if row.liveness is None else "insert"
