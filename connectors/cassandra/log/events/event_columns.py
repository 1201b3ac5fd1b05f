"""Turns the arrays of events into columns of keys and values, by the schemas of `event_schema`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from connect.api.arrow import arrow_type
from connect.api.records import Column
from connect.api.schema import Schema
from connectors.cassandra.cql.pages import decode_column
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.change_columns import change_column, mark_column, spread, struct_of
from connectors.cassandra.log.events.event_arrays import OF_NO_ROW, OPERATIONS, EventArrays


@dataclass(frozen=True, slots=True)
class Node:
    """Names the node to which a commit log belongs."""

    cluster: str
    datacenter: str
    id: str


@dataclass(frozen=True)
class EventShape:
    """Holds a table and the schemas of its events."""

    table: Table
    key: Schema
    value: Schema

    @cached_property
    def key_type(self) -> pa.StructType:
        """Return the Arrow type of the key."""
        return arrow_type(self.key)

    @cached_property
    def value_type(self) -> pa.StructType:
        """Return the Arrow type of the value."""
        return arrow_type(self.value)

    def part(self, name: str) -> pa.DataType:
        """Return the Arrow type of a member of the value."""
        return self.value_type.field(name).type


_IS_OF_NO_ROW = np.array([operation in OF_NO_ROW for operation in OPERATIONS])
_OPERATIONS = pa.array(OPERATIONS)


def event_columns(events: EventArrays, shape: EventShape, node: Node) -> tuple[Column, Column]:
    """Return the columns of keys and values. SchemaError: a value is not of its type, or is of a newer form of it."""
    count, table = len(events), shape.table
    keys, clustering = (
        [decode_column(cells, column.type, column.name) for cells, column in zip(found, columns, strict=True)]
        for found, columns in ((events.keys, table.partition_key), (events.clusterings, table.clustering))
    )
    arrays = [
        _OPERATIONS.take(pa.array(events.operations)),
        pa.array(events.writetimes_us),
        struct_of([*keys, *clustering], shape.part("key")),
        _columns(events, shape),
        mark_column(events.livenesses, shape.part("liveness"), count, has_ttl=True),
        mark_column(events.deletions, shape.part("deletion"), count, has_ttl=False),
        _ranges(events, shape),
        events.ids,
        _sources(events, shape, node),
    ]
    key_column = Column.from_arrow(struct_of(keys, shape.key_type), shape.key)
    return key_column, Column.from_arrow(struct_of(arrays, shape.value_type), shape.value)


def _columns(events: EventArrays, shape: EventShape) -> pa.Array:
    kind, count = shape.part("columns"), len(events)
    if not events.columns:
        # Arrow takes the number of rows from the columns, of which there are none.
        return pa.array([{}] * count, pa.struct([]))
    columns = (*shape.table.static, *shape.table.regular)
    arrays = [
        change_column(changes, column.type, field.type, column.name, count)
        for changes, column, field in zip(events.columns, columns, kind, strict=True)
    ]
    return struct_of(arrays, kind, _IS_OF_NO_ROW[events.operations])


def _ranges(events: EventArrays, shape: EventShape) -> pa.Array:
    kind, count, ranges = shape.part("range"), len(events), events.ranges
    if not len(ranges.rows):
        return pa.nulls(count, kind)
    clustering = shape.table.clustering
    # Where the table orders the first column backwards in which the bounds differ, they come in that order too.
    descending = np.array([*(column.descending for column in clustering), False])
    starts = 2 * np.arange(len(ranges.rows)) + descending[ranges.common]
    arrays: list[pa.Array] = []
    for bounds, name in ((starts, "start"), (starts ^ 1, "end")):
        given = np.flatnonzero(ranges.sizes[bounds])
        values = [
            decode_column(cells.take(bounds[given]), column.type, column.name)
            for cells, column in zip(ranges.prefixes, clustering, strict=True)
        ]
        arrays.append(spread(struct_of(values, kind.field(name).type), given, len(bounds)))
        arrays.append(pa.array(ranges.are_inclusive[bounds]))
    return spread(struct_of(arrays, kind), ranges.rows, count)


def _sources(events: EventArrays, shape: EventShape, node: Node) -> pa.Array:
    texts = (node.cluster, node.datacenter, node.id, str(shape.table.id))
    repeated = [pa.repeat(pa.scalar(text), len(events)) for text in texts]
    return struct_of([*repeated, pa.array(events.segments), pa.array(events.positions)], shape.part("source"))
