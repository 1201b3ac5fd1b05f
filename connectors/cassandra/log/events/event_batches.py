"""Makes batches of events, one for each table, of mutations out of the log, and reports those that cannot be read.

Native code makes the events of nearly all mutations. Python decodes the rest one by one; and it decodes all of them
where a value is not of its known type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pyarrow as pa

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.api.records import Batch, Column
from connectors.cassandra.log.events.event_columns import Node, event_columns
from connectors.cassandra.log.events.mutation import PartitionUpdate
from connectors.cassandra.log.events.native_events import gather
from connectors.cassandra.log.events.update_events import Events
from connectors.cassandra.log.events.watched_tables import Watched, WatchedTable
from connectors.cassandra.log.segments.segment import Frames, Ints
from connectors.cassandra.native import module

Keep = Callable[[str], None]
"""Takes the message about a mutation that cannot be read."""


@dataclass(frozen=True, slots=True)
class Located:
    """Holds an update with its segment and the position behind its mutation."""

    update: PartitionUpdate
    segment: int
    position: int


@dataclass(frozen=True, slots=True)
class TableEvents:
    """Holds the events of one table that have the same schema, and the positions of their mutations."""

    table: WatchedTable
    batch: Batch
    positions: Ints


def batches(frames: Frames, watched: Watched, node: Node, keep: Keep) -> list[Batch]:
    """Return the events of these mutations as batches by table, in order and without positions.

    The schema is read again if one of the mutations changes it, or if one is of a newer form of it.
    `keep` hears of each mutation that cannot be read.
    RetriableError: the node does not answer.
    """
    parts, others = _native_parts(frames, watched, node)
    if any(watched.tells_of_schema(frames.body(number)) for number in others):
        # Without it the changes of a table that has cdc = true only now would be left out as those of any other.
        watched.refresh()
        parts, others = _native_parts(frames, watched, node)
    found = [located for number in others for located in _updates(frames, number, watched, keep)]
    for table_id, updates in _by_table(found).items():
        part = _part(updates, table_id, watched, node, keep)
        if part is not None and len(part.positions):
            parts.setdefault(table_id, []).append(part)
    return [batch for of_table in parts.values() for batch in _merged(of_table)]


def _native_parts(frames: Frames, watched: Watched, node: Node) -> tuple[dict[UUID, list[TableEvents]], Iterable[int]]:
    """Return the events that native code makes, and the numbers of the mutations that it leaves to Python."""
    native = module()
    if native is None:
        return {}, range(len(frames))
    gathered = gather(native, frames, watched.plan)
    parts = {}
    for table_id, events in gathered.events.items():
        table = watched.tables[table_id]
        try:
            keys, values = event_columns(events, table.shape, node)
        except (SchemaError, ValueError):
            return {}, range(len(frames))
        parts[table_id] = [TableEvents(table, Batch(table.topic, values, keys=keys), events.positions)]
    return parts, gathered.odd.tolist()


def _updates(frames: Frames, number: int, watched: Watched, keep: Keep) -> list[Located]:
    position = int(frames.ends[number])
    try:
        place = f"segment {frames.segment} before position {position}"
        updates = watched.updates(frames.body(number), frames.version, place)
    except RetriableError:
        raise
    except (ConnectError, ValueError, IndexError) as error:
        keep(f"The mutation of {watched.named(frames.body(number))} before position {position} cannot be read: {error}")
        return []
    return [Located(update, frames.segment, position) for update in updates]


def _by_table(found: Sequence[Located]) -> dict[UUID, list[Located]]:
    by_table: dict[UUID, list[Located]] = {}
    for located in found:
        by_table.setdefault(located.update.table.id, []).append(located)
    return by_table


def _part(updates: Sequence[Located], table_id: UUID, watched: Watched, node: Node, keep: Keep) -> TableEvents | None:
    table = watched.tables.get(table_id)
    if table is not None:
        try:
            return _made(updates, table, node)
        except (SchemaError, ValueError):
            watched.refresh()
            table = watched.tables.get(table_id)
    if table is None:
        first = updates[0]
        watched.leave_out(table_id, len(updates), f"segment {first.segment} before position {first.position}")
        return None
    try:
        return _made(updates, table, node)
    except (SchemaError, ValueError):
        readable = [located for located in updates if _is_readable(located, table, node, keep)]
        return _made(readable, table, node) if readable else None


def _is_readable(located: Located, table: WatchedTable, node: Node, keep: Keep) -> bool:
    try:
        _made([located], table, node)
    except RetriableError:
        raise
    except (SchemaError, ValueError) as error:
        keep(f"The mutation of {table.shape.table.title} before position {located.position} cannot be read: {error}")
        return False
    return True


def _made(updates: Sequence[Located], table: WatchedTable, node: Node) -> TableEvents:
    events = Events(table.shape, node)
    for located in updates:
        events.add(located.update, located.segment, located.position)
    arrays = events.arrays()
    keys, values = event_columns(arrays, table.shape, node)
    return TableEvents(table, Batch(table.topic, values, keys=keys), arrays.positions)


def _merged(parts: Sequence[TableEvents]) -> list[Batch]:
    """Join events in the order of the log; those of a table before and after it changed are batches of their own."""
    if len(parts) == 1 or any(part.table.shape.value != parts[0].table.shape.value for part in parts):
        return [part.batch for part in parts]
    order = pa.array(np.argsort(np.concatenate([part.positions for part in parts]), kind="stable"))

    def merged(columns: Sequence[Column]) -> Column:
        arrays = pa.concat_arrays([column.arrow() for column in columns])
        return Column.from_arrow(arrays.take(order), columns[0].schema)

    keys = merged([part.batch.keys for part in parts if part.batch.keys is not None])
    return [Batch(parts[0].table.topic, merged([part.batch.values for part in parts]), keys=keys)]
