"""Reads the ids and nodes of the events in a batch, from Arrow columns or from rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import SchemaError
from connect.api.records import Batch


class EventMark(NamedTuple):
    """Holds an event's id, the node that sent it, and whether it was read from a table instead of a commit log."""

    id: bytes
    node: str
    is_snapshot: bool


def marks_of(batch: Batch) -> list[EventMark | SchemaError | None]:
    """Return the mark of each row; None for a tombstone, a SchemaError for a record that is no event of an agent."""
    return [_mark(*row) for row in zip(*_columns(batch), strict=True)]


def _columns(batch: Batch) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    if batch.values.is_arrow:
        try:
            return _of_array(batch.values.arrow())
        except (SchemaError, pa.ArrowException, KeyError):
            pass  # the rows have different forms, and are read one by one below
    rows = batch.values.rows()
    members = [row if isinstance(row, Mapping) else {} for row in rows]
    sources = [m.get("source") for m in members]
    return (
        [row is not None for row in rows],
        [m.get("event_id") for m in members],
        [s.get("node") if isinstance(s, Mapping) else None for s in sources],
        [m.get("op") for m in members],
    )


def _of_array(array: pa.Array) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    found = (["event_id"], ["source", "node"], ["op"])
    ids, nodes, ops = (pc.struct_field(array, path).to_pylist() for path in found)
    return pc.is_valid(array).to_pylist(), ids, nodes, ops


def _mark(is_there: bool, event_id: object, node: object, op: object) -> EventMark | SchemaError | None:
    if not is_there:
        return None
    try:
        if isinstance(event_id, str) and isinstance(node, str) and isinstance(op, str):
            return EventMark(bytes.fromhex(event_id), node, op == "snapshot")
    except ValueError:
        pass  # the id is no hexadecimal text, so this is no event
    return SchemaError("The record is no event of `connect agent cassandra`: event_id, op or source.node is not there.")
