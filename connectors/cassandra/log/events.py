"""Partition updates -> change events, one per row, static row, range or partition that a statement changed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.cassandra.cql_types import CqlType
from connectors.cassandra.log.event_id import EventId
from connectors.cassandra.log.mutation import (
    Cell,
    Clustering,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)
from connectors.cassandra.tables import Table
from connectors.cassandra.values import Decode, UnknownFieldError, decoder

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """The key and value of a record, in the Python form of their schemas; `source` is still to be added."""

    key: Values
    value: Values


class TableEvents:
    """Makes the events of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._key = [(column.name, decoder(column.type)) for column in table.partition_key]
        self._clustering = [(column.name, decoder(column.type)) for column in table.clustering]
        self._no_clustering: Values = {column.name: None for column in table.clustering}
        static = {column.name: _change(column.type) for column in table.static}
        regular = {column.name: _change(column.type) for column in table.regular}
        self._changes = {**static, **regular}
        self._no_columns: Values = dict.fromkeys(self._changes)

    def of(self, update: PartitionUpdate) -> Iterator[Event]:
        """The events of an update, in the order in which they take effect on each other."""
        key = self._partition_key(update.key)
        ids = EventId(self._table.id, update.key)
        if update.deletion is not None:
            yield self._event("partition_delete", key, self._no_clustering, ids.of_partition(update.deletion),
                              deletion=update.deletion)  # fmt: skip
        if update.static is not None:
            yield self._row_event("static", key, self._no_clustering, update.static, ids)
        open_marker: Marker | None = None
        for row in update.rows:
            if isinstance(row, Row):
                yield self._row_event(_operation(row), key, self._clustering_values(row.clustering), row, ids)
                continue
            if open_marker is not None and row.end is not None:
                yield self._range_event(key, open_marker, row, ids)
            open_marker = row if row.start is not None else None

    def _row_event(self, op: str, key: Values, clustering: Values, row: Row, ids: EventId) -> Event:
        columns = dict(self._no_columns)
        for name, change in row.columns.items():
            # What a dropped column held is gone with it.
            if name in self._changes:
                columns[name] = self._changes[name](change)
        event_id = ids.of_row(op, row)
        return self._event(
            op, key, clustering, event_id, columns=columns, liveness=row.liveness, deletion=row.deletion,
            writetime_us=newest_us(row),
        )  # fmt: skip

    def _range_event(self, key: Values, start: Marker, end: Marker, ids: EventId) -> Event:
        assert end.end is not None
        begin = self._bound(start.prefix), start.bound.includes_start
        stop = self._bound(end.prefix), end.bound.includes_end
        if self._is_descending(start.prefix, end.prefix):
            begin, stop = stop, begin
        bounds = {"start": begin[0], "start_inclusive": begin[1], "end": stop[0], "end_inclusive": stop[1]}
        event_id = ids.of_range(start, end)
        return self._event("range_delete", key, self._no_clustering, event_id, deletion=end.end, deleted_range=bounds)

    def _event(
        self,
        op: str,
        key: Values,
        clustering: Values,
        event_id: str,
        *,
        columns: Values | None = None,
        liveness: Liveness | None = None,
        deletion: Deletion | None = None,
        deleted_range: Values | None = None,
        writetime_us: int | None = None,
    ) -> Event:
        if writetime_us is None:
            assert deletion is not None
            writetime_us = deletion.writetime_us
        return Event(
            key,
            {
                "op": op,
                "writetime_us": writetime_us,
                "key": {**key, **clustering},
                "columns": columns,
                "liveness": None if liveness is None else _liveness(liveness),
                "deletion": None if deletion is None else _deletion(deletion),
                "range": deleted_range,
                "event_id": event_id,
            },
        )

    def _partition_key(self, data: bytes) -> Values:
        if len(self._key) == 1:
            name, decode = self._key[0]
            return {name: decode(data)}
        return {name: decode(part) for (name, decode), part in zip(self._key, composite(data), strict=True)}

    def _clustering_values(self, clustering: Clustering) -> Values:
        return {
            name: None if part is None else decode(part)
            for (name, decode), part in zip(self._clustering, clustering, strict=True)
        }

    def _bound(self, prefix: Clustering) -> Values | None:
        if not prefix:
            return None
        bound = dict(self._no_clustering)
        for (name, decode), part in zip(self._clustering, prefix, strict=False):
            bound[name] = None if part is None else decode(part)
        return bound

    def _is_descending(self, start: Clustering, end: Clustering) -> bool:
        """The range's ends lie in a column that the table orders backwards."""
        common = 0
        for one, other in zip(start, end, strict=False):
            if one != other:
                break
            common += 1
        clustering = self._table.clustering
        return common < len(clustering) and clustering[common].descending


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


def _operation(row: Row) -> str:
    if row.deletion is not None and row.liveness is None and not row.columns:
        return "delete"
    return "update" if row.liveness is None else "insert"


def _liveness(liveness: Liveness) -> Values:
    return {"writetime_us": liveness.writetime_us, "ttl_s": liveness.ttl_s, "expires_s": liveness.expires_s}


def _deletion(deletion: Deletion) -> Values:
    return {"writetime_us": deletion.writetime_us, "local_s": deletion.local_s}


_Change = Callable[[Any], Values]


def _change(cql: CqlType) -> _Change:
    """What makes the event's part of a column."""
    if not cql.is_multicell:
        return _cell(decoder(cql))
    if cql.name == "udt":
        return _fields(cql.fields, [_cell(decoder(parameter)) for parameter in cql.parameters])
    match cql.name:
        case "list":
            return _elements("position", decoder(CqlType("timeuuid")), decoder(cql.parameters[0]))
        case "map":
            return _elements("key", decoder(cql.parameters[0]), decoder(cql.parameters[1]))
    return _elements("element", decoder(cql.parameters[0]), None)


def _cell(decode: Decode) -> _Change:
    def make(cell: Cell) -> Values:
        return {
            "value": None if cell.value is None else decode(cell.value),
            "writetime_us": cell.writetime_us,
            "ttl_s": cell.ttl_s,
            "local_deletion_s": cell.local_s,
            "deleted": cell.value is None,
        }

    return make


def _elements(path_name: str, decode_path: Decode, decode: Decode | None) -> _Change:
    def make(column: ComplexColumn) -> Values:
        written: list[Values] = []
        removed: list[Values] = []
        for cell in column.cells:
            element: Values = {path_name: decode_path(cell.path or b"")}
            if cell.value is None:
                removed.append({**element, "writetime_us": cell.writetime_us, "local_deletion_s": cell.local_s})
                continue
            if decode is not None:
                element["value"] = decode(cell.value)
            times = {"writetime_us": cell.writetime_us, "ttl_s": cell.ttl_s, "local_deletion_s": cell.local_s}
            written.append({**element, **times})
        return {"cleared_us": _cleared_us(column), "set": written, "removed": removed}

    return make


def _fields(names: Sequence[str], makers: Sequence[_Change]) -> _Change:
    none: Mapping[str, Any] = dict.fromkeys(names)

    def make(column: ComplexColumn) -> Values:
        fields = dict(none)
        for cell in column.cells:
            number = int.from_bytes(cell.path or b"", "big")
            if number >= len(names):
                raise UnknownFieldError(f"A value has field {number + 1} of a type with {len(names)} fields.")
            fields[names[number]] = makers[number](cell)
        return {"cleared_us": _cleared_us(column), "fields": fields}

    return make


def _cleared_us(column: ComplexColumn) -> int | None:
    return None if column.deletion is None else column.deletion.writetime_us
