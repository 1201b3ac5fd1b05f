"""Events of a binary log -> batches of change events with positions. Owned by the reading thread."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from connect import __version__
from connect.api.records import Batch, SourcePosition
from connectors.jdbc.config import JdbcSourceConfig
from connectors.jdbc.log import binlog, envelope
from connectors.jdbc.log.binlog import Event, RowChange
from connectors.jdbc.log.binlog_position import BinlogPosition, Row
from connectors.jdbc.log.binlog_values import Read
from connectors.jdbc.log.cells import BYTES_AT_MOST
from connectors.jdbc.log.mysql_tables import BinlogTable
from connectors.jdbc.log.position import partition_of
from connectors.jdbc.tables import TableName

_log = logging.getLogger(__name__)
_BEGIN = re.compile(r"(?i)\s*(BEGIN|START TRANSACTION|XA START)\b")
_END = re.compile(r"(?i)\s*(COMMIT|ROLLBACK)\s*$")
_WITHIN = re.compile(r"(?i)\s*(SAVEPOINT|ROLLBACK\s+TO|RELEASE)\b")
_TRUNCATE = re.compile(r"(?i)\s*TRUNCATE\s+(?:TABLE\s+)?(?:`?([^`.\s]+)`?\s*\.\s*)?`?([^`.\s;]+)`?")
_NOWHERE = Row()
_STARTS = {binlog.GTID, binlog.MYSQL_GTID, 34}


@dataclass(slots=True)
class _Collected:
    table: BinlogTable
    changes: list[RowChange] = field(default_factory=list)
    members: list[tuple[object, ...]] = field(default_factory=list)
    last: Row = _NOWHERE


class BinlogEvents:
    """Takes events one by one, and gives what they changed as batches."""

    def __init__(
        self,
        config: JdbcSourceConfig,
        connector: str,
        position: BinlogPosition,
        *,
        tables: Mapping[TableName, BinlogTable],
        plan: Callable[[TableName], BinlogTable],
        chosen: Callable[[TableName], bool],
    ) -> None:
        self._prefix = config.topic_prefix
        self._rules = envelope.EventRules(config.tombstones_on_delete, frozenset(config.skipped_operations) - {"none"})
        self._constant = {"version": __version__, "connector": connector, "name": config.topic_prefix}
        self._plan = plan
        self._chosen = chosen
        self.position = position
        """Behind everything that `batches` gave."""
        self._tables = dict(tables)
        self._stale: set[TableName] = set()
        self._mapped: dict[int, tuple[BinlogTable, list[Read]] | None] = {}
        self._collected: dict[tuple[TableName, int], _Collected] = {}
        self._commits = 0
        self._open = False
        self._row = 0
        self._gtid: binlog.Gtid | None = None
        self._file = position.file
        self._base = position
        self._count = 0
        self._size_bytes = 0

    def has(self, rows: int) -> bool:
        """Whether so many rows are collected, or as many bytes as a chunk may have."""
        return self._count >= rows or self._size_bytes > BYTES_AT_MOST

    def take(self, event: Event) -> None:
        """Collect an event's rows."""
        if event.kind == binlog.ROTATE:
            self._file, _ = binlog.rotated(event)
        elif event.kind in _STARTS:
            self._gtid = binlog.gtid(event) if event.kind != 34 else None
            self._begin()
        elif event.kind == binlog.TABLE_MAP:
            self._map(event)
        elif event.kind in binlog.ROWS:
            self._rows(event)
        elif event.kind == binlog.XID:
            self._commit(event)
        elif event.kind == binlog.QUERY:
            self._statement(event)

    def _begin(self) -> None:
        if not self._open:
            self._open, self._row = True, 0

    def _commit(self, event: Event) -> None:
        self._open, self._row = False, 0
        self._commits += 1
        gtids = dict(self._base.gtids)
        if self._gtid is not None and ":" not in self._gtid.text:
            gtids[self._gtid.domain] = self._gtid.text
        self._gtid = None
        self._base = BinlogPosition(
            self._file, event.end or self._base.pos, gtids, server_id=event.server_id, second=event.second
        )

    def _statement(self, event: Event) -> None:
        text = binlog.query(event)
        if _BEGIN.match(text):
            self._begin()
        elif _END.match(text):
            self._commit(event)
        elif not _WITHIN.match(text):
            # Tables may have other columns behind this.
            self._stale = set(self._tables)
            found = _TRUNCATE.match(text)
            if found is not None:
                _log.warning("A table was truncated: its rows stay in its topic. %s", text[:200])
            self._commit(event)

    def _map(self, event: Event) -> None:
        mapped = binlog.table_map(event)
        name = TableName(mapped.schema, mapped.table)
        if not self._chosen(name):
            self._mapped[mapped.number] = None
            return
        table = self._tables[name] = self._fitting(name, mapped)
        self._mapped[mapped.number] = (table, table.readers(mapped))

    def _fitting(self, name: TableName, mapped: binlog.TableMap) -> BinlogTable:
        """The table as it was when the log was written, as far as can be told: the catalog may be ahead of the log."""
        known = self._tables.get(name)
        if known is not None and known.fits(mapped) and name not in self._stale:
            return known
        self._stale.discard(name)
        now = self._plan(name)
        return known if known is not None and known.fits(mapped) and not now.fits(mapped) else now

    def _rows(self, event: Event) -> None:
        mapped = self._mapped.get(binlog.table_number(event))
        if mapped is None:
            return
        table, readers = mapped
        # A table that was altered in between is another one.
        place = self._collected.setdefault((table.name, id(table)), _Collected(table))
        done = max(self.position.reached, self.position.ahead.get(table.name.full, Row()))
        gtid = None if self._gtid is None else self._gtid.text
        self._size_bytes += len(event.body)
        for number, change in enumerate(binlog.rows(event, readers)):
            self._row += 1
            here = Row(self._commits + 1, self._row)
            if here > done:
                place.changes.append(change)
                place.members.append((event.second, event.server_id, gtid, self._file, event.end, number))
                place.last = here
                self._count += 1

    def batches(self) -> Iterator[Batch]:
        """What was collected, table by table; moves `position` behind it."""
        behind = self._behind()
        parts = [(c, made) for c in self._collected.values() if c.changes and (made := self._batch(c))]
        ahead = dict(self.position.ahead)
        start = self.position
        for number, (collected, made) in enumerate(parts, 1):
            ahead[collected.table.name.full] = collected.last
            self.position = behind if number == len(parts) else replace(start, ahead=dict(ahead))
            yield replace(made, position=self.source_position(self.position))
        self.position, self._base = behind, behind
        self._collected, self._count, self._size_bytes, self._commits = {}, 0, 0, 0

    def _behind(self) -> BinlogPosition:
        reached = Row(1, self._row) if self._open and self._row else Row()
        if not self._commits:
            reached = max(reached, self.position.reached)
        ahead = {table: at for table, at in self.position.behind(self._commits).items() if at > reached}
        return replace(self._base, reached=reached, ahead=ahead, snapshot_done=None)

    def source_position(self, position: BinlogPosition) -> SourcePosition:
        """A position as the framework stores it."""
        return SourcePosition(partition_of(self._prefix), position.offset())

    def _batch(self, collected: _Collected) -> Batch | None:
        table, changes = collected.table, collected.changes
        befores = [c.before for c in changes if c.before is not None]
        afters = [c.after for c in changes if c.after is not None]
        table = table.widened([*befores, *afters])
        if table is not collected.table:
            self._tables[table.name] = table
        ops = np.array([_op(c) for c in changes], np.uint8)
        second, server_id, gtid, file, pos, row = zip(*collected.members, strict=True)
        ms = np.array(second, np.int64) * 1000
        source = {
            **self._constant, "db": table.name.schema, "table": table.name.name, "snapshot": "false", "ts_ms": ms,
            "ts_us": ms * 1000, "ts_ns": ms * 1_000_000, "server_id": np.array(server_id, np.int64),
            "gtid": pa.array(gtid, pa.string()), "file": pa.array(file, pa.string()), "pos": np.array(pos, np.int64),
            "row": np.array(row, np.int32),
        }  # fmt: skip
        old = np.flatnonzero(ops != envelope.CREATE)
        new = np.flatnonzero(ops != envelope.DELETE)
        before = table.rows(befores) if befores else None
        rows = envelope.Rows(ops, old, before, new, table.rows(afters), source, full_before=True)
        return envelope.batch(table.events, rows, self._rules)

    def of_snapshot(
        self, table: BinlogTable, values: pa.StructArray, position: BinlogPosition, ms: int
    ) -> Batch | None:
        """Rows of the first read as read events."""
        count = len(values)
        source = {
            **self._constant, "db": table.name.schema, "table": table.name.name, "snapshot": "true", "ts_ms": ms,
            "ts_us": ms * 1000, "ts_ns": ms * 1_000_000, "server_id": 0, "file": position.file, "pos": position.pos,
            "row": 0,
        }  # fmt: skip
        none = np.empty(0, np.int64)
        ops = np.full(count, envelope.READ, np.uint8)
        rows = envelope.Rows(ops, none, None, np.arange(count), values, source)
        return envelope.batch(table.events, rows, self._rules)


def _op(change: RowChange) -> int:
    if change.before is None:
        return envelope.CREATE
    return envelope.DELETE if change.after is None else envelope.UPDATE
