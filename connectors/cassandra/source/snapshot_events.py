"""Turns a table's pages into events like the agent's, so that the table and its later changes merge. Pure.

Each value has the writetime that the server tells, so the newest wins, in whatever order events come. Where the server
tells no time, `fence_us` is used, the time when the reading began. Every later change is in the commit log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connect.api.records import Batch, SourcePosition
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells, Page, split_columns
from connectors.cassandra.cql.splits import Split, SplitProgress, stored_key
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.cql.values import parts
from connectors.cassandra.log.events.event_columns import EventShape, Node
from connectors.cassandra.log.events.event_schema import event_schema, partition_key_schema
from connectors.cassandra.log.events.mutation import Cell, ComplexColumn, Liveness, PartitionUpdate, Row
from connectors.cassandra.log.events.update_events import Events, newest_us
from connectors.cassandra.source.rows import behind
from connectors.cassandra.source.snapshot_lists import fenced
from connectors.cassandra.source.sweeps import Sweep

SNAPSHOT: Final = "snapshot"
Times = tuple[int, int | None, int | None]
"""Holds the times of a value: writetime_us, ttl_s, local_deletion_s."""


class SnapshotEvents:
    """Turns the pages of a table into batches of events. Owned by the task thread."""

    def __init__(
        self,
        table: Table,
        topic: str,
        node: Node,
        *,
        element_times: bool,
        fence_us: int,
        now_s: Callable[[], int],
        since_us: int | None = None,
    ) -> None:
        """Take a table, its topic, and the settings of its events.

        `element_times` says that the server tells the times of elements, as Cassandra 5.0 does and 4.x does not.
        `fence_us` is the writetime of values whose time the server does not tell. `now_s` returns seconds since 1970.
        Only rows with a writetime of `since_us` or later become events; None: all rows do.
        """
        self._since_us = since_us
        self._table = table
        self._topic = topic
        self._node = node
        self._fence_us = fence_us
        is_in_log = table.cdc and table.is_logged
        self._list_fence_us = max(fence_us, table.cdc_us or fence_us) if is_in_log else None
        """Elements that were written to lists until this time (us) may be in no log; None for a table without log."""
        self._lists = {c.name for c in table.columns if c.type.is_multicell and c.type.name == "list"}
        self._now_s = now_s
        self._shape = EventShape(table, partition_key_schema(table), event_schema(table))
        others = [c for c in table.columns if c not in table.primary_key]
        self._timed = [c for c in others if element_times or not c.type.is_multicell]
        names = [quoted(column.name) for column in self._timed]
        self.more = "".join(f", writetime({name}), ttl({name})" for name in names)
        self._last_keys: dict[int, bytes] = {}
        """Holds the partition of the last row of each range that is being read, by the range's last token."""

    def batch(self, split: Split, page: Page, sweep: Sweep, *, is_last: bool) -> Batch:
        """Return the events of a page's rows, with the position behind the page."""
        token, *cells = split_columns(page)
        columns = self._table.columns
        by_name = {column.name: found for column, found in zip(columns, cells, strict=False)}
        timed = cells[len(columns) :]
        times = {column.name: (timed[2 * i], timed[2 * i + 1]) for i, column in enumerate(self._timed)}
        events = Events(self._shape, self._node, row_op=SNAPSHOT)
        for number in range(page.rows):
            update = self._update(number, by_name, times, self._last_keys.get(split.upto))
            self._last_keys[split.upto] = update.key
            events.add(self._fenced(self._written(update)), 0, 0)
        if is_last:
            self._last_keys.pop(split.upto, None)
        progress = SplitProgress(split.upto, finished=True) if is_last else behind(self._table, token, cells, page.rows)
        keys, values = events.columns()
        position = None
        if progress is not None:
            position = SourcePosition(split.partition, {**progress.offset, **sweep.offset})
        return Batch(self._topic, values, keys=keys, position=position)

    def _written(self, update: PartitionUpdate) -> PartitionUpdate:
        """Return the update without rows that are older than `since_us`."""
        since_us = self._since_us
        if since_us is None:
            return update
        static = update.static if update.static is not None and newest_us(update.static) >= since_us else None
        rows = [row for row in update.rows if isinstance(row, Row) and newest_us(row) >= since_us]
        return replace(update, static=static, rows=rows)

    def _fenced(self, update: PartitionUpdate) -> PartitionUpdate:
        """Return the update with lists changed so that they merge with the changes of lists in the commit log."""
        static = None if update.static is None else self._with_lists(update.static)
        rows = [self._with_lists(row) for row in update.rows if isinstance(row, Row)]
        return replace(update, static=static, rows=rows)

    def _with_lists(self, row: Row) -> Row:
        lists = {name: change for name, change in row.columns.items() if name in self._lists}
        if not lists:
            return row
        now_s, found = self._now_s(), dict(row.columns)
        for name, change in lists.items():
            assert isinstance(change, ComplexColumn)
            found[name] = fenced(change, self._list_fence_us, now_s * 1_000_000, now_s)
        return Row(row.clustering, row.liveness, row.deletion, found)

    def _update(
        self, number: int, cells: dict[str, Cells], times: dict[str, tuple[Cells, Cells]], last_key: bytes | None
    ) -> PartitionUpdate:
        """Return what a row holds, with its partition's static values unless the row before had these, too."""
        table = self._table
        key = stored_key(table, [cells[column.name].value(number) or b"" for column in table.partition_key])
        now_s = self._now_s()

        def row(columns: Sequence[TableColumn], clustering: tuple[bytes | None, ...]) -> Row:
            found: dict[str, Cell | ComplexColumn] = {}
            for column in columns:
                data = cells[column.name].value(number)
                if data is None:
                    continue
                told = times.get(column.name)
                written, left = (None, None) if told is None else (told[0].value(number), told[1].value(number))
                if column.type.is_multicell:
                    elements = _element_times(written, left, self._fence_us, now_s)
                    found[column.name] = ComplexColumn(None, _elements(column.type, data, elements))
                else:
                    writetime_us, ttl_s, local_s = _times(written, left, self._fence_us, now_s)
                    found[column.name] = Cell(writetime_us, data, ttl_s, local_s)
            return Row(clustering, None, None, found)

        static = row(table.static, ()) if key != last_key else None
        clustering = tuple(cells[column.name].value(number) for column in table.clustering)
        if table.clustering and clustering[0] is None:
            rows: list[Row] = []  # the partition has nothing but static values
        else:
            rows = [self._alive(row(table.regular, clustering))]
        return PartitionUpdate(table, key, None, static if static is not None and static.columns else None, rows)

    def _alive(self, row: Row) -> Row:
        """Return the row with an INSERT's mark, which the server does not tell; it gets the newest value's times."""
        newest: Liveness | None = None
        for change in row.columns.values():
            for cell in (change,) if isinstance(change, Cell) else change.cells:
                if newest is None or cell.writetime_us > newest.writetime_us:
                    newest = Liveness(cell.writetime_us, cell.ttl_s, cell.local_s)
        return Row(row.clustering, newest or Liveness(self._fence_us), None, row.columns)


def _times(written: bytes | None, left: bytes | None, fence_us: int, now_s: int) -> Times:
    """Return the times of a value. The server tells how many seconds it has left, not for how many it was written."""
    writetime_us = fence_us if written is None else int.from_bytes(written, "big", signed=True)
    ttl_s = None if left is None else int.from_bytes(left, "big", signed=True)
    return writetime_us, ttl_s, None if ttl_s is None else now_s + ttl_s


def _element_times(written: bytes | None, left: bytes | None, fence_us: int, now_s: int) -> list[Times] | Times:
    """Return the times of each element, or one set of times for all of them if the server does not tell them."""
    if written is None:
        return fence_us, None, None
    writetimes = parts(written, 4)
    ttls = [None] * len(writetimes) if left is None else parts(left, 4)
    return [_times(w, ttl, fence_us, now_s) for w, ttl in zip(writetimes, ttls, strict=True)]


def _elements(cql: CqlType, data: bytes, times: list[Times] | Times) -> list[Cell]:
    """Return the cells of a collection's elements, or of the fields of a user-defined type."""
    if cql.name == "udt":
        places = [i for i, value in enumerate(parts(data)) if value is not None]
        pairs: list[tuple[bytes | None, bytes | None]] = [(i.to_bytes(2, "big"), parts(data)[i]) for i in places]
        told = [times[i] if isinstance(times, list) else times for i in places]
    else:
        values = parts(data, 4)
        count = len(values) // 2 if cql.name == "map" else len(values)
        told = times if isinstance(times, list) else [times] * count
        pairs = _pairs(cql, values)
    return [Cell(t[0], value or b"", t[1], t[2], path or b"") for (path, value), t in zip(pairs, told, strict=True)]


def _pairs(cql: CqlType, values: Sequence[bytes | None]) -> list[tuple[bytes | None, bytes | None]]:
    """Return the path and value of each element of a collection; the path of a list's elements is None."""
    match cql.name:
        case "map":
            return list(zip(values[::2], values[1::2], strict=True))
        case "set":
            return [(value, b"") for value in values]
    return [(None, value) for value in values]
