"""Some mutations out of the log -> batches, one per table. What cannot be read is told apart from what can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from connect.api.errors import RetriableError, SchemaError
from connect.api.records import Batch
from connectors.cassandra.log.events import Events, Node
from connectors.cassandra.log.mutation import PartitionUpdate
from connectors.cassandra.log.watched import Watched, WatchedTable

Keep = Callable[[str], None]
"""Hears of something that could not be read."""


@dataclass(frozen=True, slots=True)
class Located:
    """An update, and the place behind its mutation."""

    update: PartitionUpdate
    segment: int
    position: int


def batches(found: Sequence[Located], watched: Watched, node: Node, keep: Keep) -> list[Batch]:
    """The events of these updates in their order, by table and without positions.

    A value of a newer form than the schema that was read makes it read again. RetriableError: the node does not answer.
    """
    by_table: dict[UUID, list[Located]] = {}
    for located in found:
        by_table.setdefault(located.update.table.id, []).append(located)
    made = []
    for table_id, updates in by_table.items():
        batch = _batch(updates, table_id, watched, node, keep)
        if batch is not None:
            made.append(batch)
    return made


def _batch(updates: Sequence[Located], table_id: UUID, watched: Watched, node: Node, keep: Keep) -> Batch | None:
    try:
        return _made(updates, watched.tables[table_id], node)
    except (SchemaError, ValueError):
        watched.refresh()
    # A table that is gone by now: its changes are gone with it.
    table = watched.tables.get(table_id)
    if table is None:
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


def _made(updates: Sequence[Located], table: WatchedTable, node: Node) -> Batch:
    events = Events(table.shape, node)
    for located in updates:
        events.add(located.update, located.segment, located.position)
    keys, values = events.columns()
    return Batch(table.topic, values, keys=keys)
