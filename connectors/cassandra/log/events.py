"""Partition updates -> change events in columns: one per row, static row, range or partition that was changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from connect.api.arrow import arrow_type
from connect.api.records import Column
from connect.api.schema import Schema
from connectors.cassandra.log.change_columns import change_of, spread, struct_of, values_of
from connectors.cassandra.log.event_id import EventId
from connectors.cassandra.log.event_schema import DELETION, LIVENESS, SOURCE
from connectors.cassandra.log.mutation import (
    Cell,
    Clustering,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)
from connectors.cassandra.tables import Table, TableColumn


@dataclass(frozen=True, slots=True)
class Node:
    """Whose commit log it is."""

    cluster: str
    datacenter: str
    id: str


@dataclass(frozen=True, slots=True)
class EventShape:
    """A table and the schemas of its events."""

    table: Table
    key: Schema
    value: Schema

    def part(self, name: str) -> Schema:
        """The schema of a member of the value."""
        found = self.value.field(name)
        assert found is not None
        return found


class Events:
    """Gathers the events of one table. Owned by one thread."""

    def __init__(self, shape: EventShape, node: Node, *, row_op: str | None = None) -> None:
        """`row_op`: what rows are, where the update does not tell."""
        self._shape = shape
        self._row_op = row_op
        self._node = node
        table = shape.table
        columns = shape.part("columns")
        self._changes = {
            column.name: change_of(column.type, field.schema, column.name)
            for column, field in zip((*table.static, *table.regular), columns.fields, strict=True)
        }
        self._ops: list[str] = []
        self._writetimes: list[int] = []
        self._keys: list[Sequence[bytes]] = []
        self._clusterings: list[Clustering] = []
        self._ids: list[str] = []
        self._with_columns: list[int] = []
        self._live: list[tuple[int, Liveness]] = []
        self._deleted: list[tuple[int, Deletion]] = []
        self._ranges: list[tuple[int, Marker, Marker]] = []
        self._places: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._ops)

    def add(self, update: PartitionUpdate, segment: int, position: int) -> None:
        """The events of an update, in the order in which they take effect on each other.

        UnknownFieldError: it has a field that its type had not when the schema was read.
        """
        key = _parts(update.key, len(self._shape.table.partition_key))
        ids = EventId(self._shape.table.id, update.key)
        before = len(self._ops)
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
        self._places.extend([(segment, position)] * (len(self._ops) - before))

    def columns(self) -> tuple[Column, Column]:
        """Keys and values. SchemaError: a value is not of its type, or of a newer form of it."""
        count = len(self._ops)
        table, shape = self._shape.table, self._shape
        keys = [
            values_of([parts[i] for parts in self._keys], column.type, column.name)
            for i, column in enumerate(table.partition_key)
        ]
        clustering = _bound_arrays(table.clustering, self._clusterings)
        arrays = [
            pa.array(self._ops, pa.string()),
            pa.array(self._writetimes, pa.int64()),
            struct_of([*keys, *clustering], shape.part("key")),
            self._columns(count),
            self._liveness(count),
            self._deletions(count),
            self._ranges_array(count),
            pa.array(self._ids, pa.string()),
            self._sources(count),
        ]
        key_column = Column.from_arrow(struct_of(keys, shape.key), shape.key)
        return key_column, Column.from_arrow(struct_of(arrays, shape.value), shape.value)

    def _say(self, op: str, key: Sequence[bytes], clustering: Clustering, event_id: str, writetime_us: int) -> None:
        self._ops.append(op)
        self._writetimes.append(writetime_us)
        self._keys.append(key)
        self._clusterings.append(clustering)
        self._ids.append(event_id)

    def _row(self, op: str, key: Sequence[bytes], row: Row, ids: EventId) -> None:
        number = len(self._ops)
        self._with_columns.append(number)
        if row.liveness is not None:
            self._live.append((number, row.liveness))
        if row.deletion is not None:
            self._deleted.append((number, row.deletion))
        for name, change in row.columns.items():
            # What a dropped column held is gone with it.
            column = self._changes.get(name)
            if column is not None:
                column.add(number, change)
        self._say(op, key, row.clustering, ids.of_row(op, row), newest_us(row))

    def _range(self, key: Sequence[bytes], start: Marker, end: Marker, ids: EventId) -> None:
        assert end.end is not None
        self._deleted.append((len(self._ops), end.end))
        self._ranges.append((len(self._ops), start, end))
        self._say("range_delete", key, (), ids.of_range(start, end), end.end.writetime_us)

    def _columns(self, count: int) -> pa.Array:
        schema = self._shape.part("columns")
        if not self._changes:
            # Arrow takes the number of rows from the columns, of which there are none.
            return pa.array([{}] * count, pa.struct([]))
        array = struct_of([change.array(count) for change in self._changes.values()], schema)
        return spread(array.take(pa.array(self._with_columns, pa.int64())), self._with_columns, count)

    def _liveness(self, count: int) -> pa.Array:
        marks = [mark for _, mark in self._live]
        arrays = [
            pa.array([mark.writetime_us for mark in marks], pa.int64()),
            pa.array([mark.ttl_s for mark in marks], pa.int32()),
            pa.array([mark.expires_s for mark in marks], pa.int64()),
        ]
        return spread(struct_of(arrays, LIVENESS), [row for row, _ in self._live], count)

    def _deletions(self, count: int) -> pa.Array:
        marks = [mark for _, mark in self._deleted]
        arrays = [
            pa.array([mark.writetime_us for mark in marks], pa.int64()),
            pa.array([mark.local_s for mark in marks], pa.int64()),
        ]
        return spread(struct_of(arrays, DELETION), [row for row, _ in self._deleted], count)

    def _ranges_array(self, count: int) -> pa.Array:
        schema = self._shape.part("range")
        if not self._ranges:
            return pa.nulls(count, arrow_type(schema))
        clustering = self._shape.table.clustering
        sides: list[list[tuple[Clustering, bool]]] = [[], []]
        for _, start, end in self._ranges:
            ends = [(start.prefix, start.bound.includes_start), (end.prefix, end.bound.includes_end)]
            if _runs_backwards(clustering, start.prefix, end.prefix):
                ends.reverse()
            for side, found in zip(sides, ends, strict=True):
                side.append(found)
        arrays: list[pa.Array] = []
        for side, name in zip(sides, ("start", "end"), strict=True):
            bound = schema.field(name)
            assert bound is not None
            rows = [i for i, (prefix, _) in enumerate(side) if prefix]
            values = struct_of(_bound_arrays(clustering, [side[i][0] for i in rows]), bound)
            arrays += [spread(values, rows, len(side)), pa.array([inclusive for _, inclusive in side], pa.bool_())]
        return spread(struct_of(arrays, schema), [row for row, _, _ in self._ranges], count)

    def _sources(self, count: int) -> pa.Array:
        node, table = self._node, self._shape.table
        texts = [pa.repeat(pa.scalar(text), count) for text in (node.cluster, node.datacenter, node.id, str(table.id))]
        places = [pa.array([place[i] for place in self._places], pa.int64()) for i in (0, 1)]
        return struct_of([*texts, *places], SOURCE)


def composite(key: bytes) -> list[bytes]:
    """The values of a partition key of several columns: 2 bytes of length, the value, a zero byte."""
    found, at = [], 0
    while at < len(key):
        size = int.from_bytes(key[at : at + 2], "big")
        found.append(key[at + 2 : at + 2 + size])
        at += size + 3
    return found


def newest_us(row: Row) -> int:
    """The newest writetime of a row's changes."""
    times = [mark.writetime_us for mark in (row.liveness, row.deletion) if mark is not None]
    for change in row.columns.values():
        if isinstance(change, Cell):
            times.append(change.writetime_us)
            continue
        times.extend(cell.writetime_us for cell in change.cells)
        if change.deletion is not None:
            times.append(change.deletion.writetime_us)
    return max(times, default=0)


def _parts(key: bytes, columns: int) -> Sequence[bytes]:
    return (key,) if columns == 1 else composite(key)


def _operation(row: Row) -> str:
    if row.deletion is not None and row.liveness is None and not row.columns:
        return "delete"
    return "update" if row.liveness is None else "insert"


def _bound_arrays(columns: Sequence[TableColumn], rows: Sequence[Clustering]) -> list[pa.Array]:
    """Clustering columns of rows, null where a row has less of them."""
    return [
        values_of([row[i] if i < len(row) else None for row in rows], column.type, column.name)
        for i, column in enumerate(columns)
    ]


def _runs_backwards(columns: Sequence[TableColumn], start: Clustering, end: Clustering) -> bool:
    """The range's ends lie in a column that the table orders backwards."""
    common = 0
    for one, other in zip(start, end, strict=False):
        if one != other:
            break
        common += 1
    return common < len(columns) and columns[common].descending
