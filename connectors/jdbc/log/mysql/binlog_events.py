"""Makes batches of change events, with positions, from the events of a binary log. Owned by the reading thread."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from connect.api.records import Batch
from connectors.jdbc.database.catalog import NoTableError
from connectors.jdbc.log.binlog import packets as binlog
from connectors.jdbc.log.binlog.numbered_transactions import NumberedTransactions
from connectors.jdbc.log.binlog.packets import Event, Operation
from connectors.jdbc.log.binlog.position import BinlogPosition, Place, Row, SnapshotEnd, ahead_of
from connectors.jdbc.log.binlog.statements import tell
from connectors.jdbc.log.ddl.logged_statements import SILENT, StatementPlace, StatementTeller
from connectors.jdbc.log.mysql.binlog_changes import (
    Changes,
    Collected,
    EventFacts,
    Mask,
    RowNumbers,
    numbered,
    undelivered,
)
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords, texts_of
from connectors.jdbc.log.mysql.chunk_window import tell_changes
from connectors.jdbc.log.mysql.flavour import Flavour
from connectors.jdbc.log.mysql.partial_transaction import HalfRead
from connectors.jdbc.log.mysql.schema_history import History, NoHistory
from connectors.jdbc.log.mysql.tables import BinlogTable, LoggedRows
from connectors.jdbc.log.mysql.told_transactions import STATEMENTS, Part, ToldTransactions, transactions_of
from connectors.jdbc.log.shared.cells import BYTES_AT_MOST
from connectors.jdbc.log.shared.snapshot_segments import Fence
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRow, BadRows, without_bad

_log = logging.getLogger(__name__)
_BEGIN = re.compile(r"(?i)\s*(BEGIN|START TRANSACTION|XA START)\b")
_END = re.compile(r"(?i)\s*(COMMIT|ROLLBACK)\s*$")
_WITHIN = re.compile(r"(?i)\s*(SAVEPOINT|ROLLBACK\s+TO|RELEASE)\b")
_ROW_BYTES = 128
"""A row is assumed to have this many bytes until the first rows have come."""
_MAPS = 1000
"""This many descriptions of tables are remembered. An event of rows has its table's description shortly before it."""
Shown = Callable[[Changes, Fence[SnapshotEnd], Mask], Changes]
_STARTS = {binlog.GTID, binlog.MYSQL_GTID, binlog.ANONYMOUS, binlog.TAGGED}


class BinlogEvents:
    """Takes events one by one, and gives what they changed as batches."""

    def __init__(
        self,
        records: BinlogRecords,
        flavour: Flavour,
        position: BinlogPosition,
        *,
        tables: Mapping[TableName, BinlogTable],
        plan: Callable[[TableName], BinlogTable],
        plan_told: Callable[[BinlogTable, binlog.TableMap], BinlogTable] = lambda now, _: now,
        history: History | None = None,
        shown: Shown = lambda changes, _fence, _hidden: changes,
        chosen: Callable[[TableName], bool],
        signal_table: TableName | None = None,
        statements: StatementTeller = SILENT,
    ) -> None:
        self._records = records
        self._plan, self._plan_told, self._shown = plan, plan_told, shown
        self._chosen, self._signal_table = chosen, signal_table
        self._history: History = history or NoHistory()
        self._statements, self._told_statements = statements, list[Part]()
        self.position = position
        """This is the position that is behind everything that `batches` gave."""
        self._tables = dict(tables)
        self._stale, self._gone = set[TableName](), set[TableName]()
        self._mapped: dict[int, tuple[bytes, LoggedRows | None]] = {}
        self._collected: dict[int, Collected] = {}
        self._transactions: list[int] = []
        self._commits, self._statement_number, self._open, self._has_end = 0, 0, False, False
        self._rows_numbered = RowNumbers()
        self._numbered = NumberedTransactions(position.numbered or ())
        self._row_bytes, self._size_bytes = _ROW_BYTES, 0
        self._gtid: binlog.Gtid | None = None
        self._transaction = ""
        topic = records.transaction_topic
        self._tells = ToldTransactions(topic) if topic else None
        self._committed_us: int | None = None
        self._thread = -1
        self._half_read = HalfRead(position.skipped)
        self._file, self._base = position.file, position
        self.read_to = Place(position.file, position.pos)
        """Behind the last event that has an end."""
        self.changed_to: Place | None = None
        """Behind the last event of a transaction that has an end."""
        self._fences = position.fences
        self.executed = flavour.executed(position.gtids)

    def has(self, rows: int) -> bool:
        """Return True if about `rows` rows are collected, or as many bytes as a chunk may have."""
        return self._numbered.is_long or self._size_bytes > min(BYTES_AT_MOST, rows * self._row_bytes)

    def take(self, event: Event) -> None:
        """Collect the rows of an event."""
        self._take(event)
        self._half_read.count()
        if pos := binlog.rotated(event)[1] if event.kind == binlog.ROTATE else event.end:
            self.read_to = Place(self._file, pos)
            if event.kind in binlog.CHANGES:
                self.changed_to = self.read_to

    def _take(self, event: Event) -> None:
        if event.kind == binlog.ROTATE:
            self._begin_file(event)
        elif event.kind in _STARTS:
            self._gtid = binlog.gtid(event) if event.kind in {binlog.GTID, binlog.MYSQL_GTID} else None
            self._committed_us = binlog.committed_us(event)
            self._begin(event)
            self._has_end = event.kind == binlog.GTID and not binlog.gtid(event).stands_alone
        elif event.kind == binlog.PREVIOUS_GTIDS:
            self.executed.told(event.body)
        elif event.kind == binlog.TABLE_MAP:
            self._map(event)
        elif event.kind in binlog.ROWS:
            self._rows(event)
        elif event.kind == binlog.XID or (event.kind == binlog.XA_PREPARE and self._open):
            self._commit(event)
        elif event.kind in binlog.QUERIES:
            self._statement(event)

    def _begin_file(self, event: Event) -> None:
        """Go on in another file, and move the place there, as the server may remove the file that is read."""
        file, pos = binlog.rotated(event)
        # A reader by GTID is told by the server where it begins, which may be far before its place.
        if file != self._file and not self._open and (event.end or not self._base.gtids):
            self._base = replace(self._base, file=file, pos=pos)
        self._file = file

    def _begin(self, event: Event) -> None:
        self._half_read.begin()
        self._transaction = f"file={self._file},pos={event.start}" if self._gtid is None else self._gtid.text
        self._number()

    def _number(self) -> None:
        """Number a transaction that begins."""
        if self._open:
            return
        self._open, self._statement_number = True, 0
        if self._gtid is not None:
            self.executed.begun(self._gtid)
        if not self._numbered.takes(None if self._gtid is None else self._gtid.text):
            # Numbers that hold for other transactions, of a server that is lost, say nothing of these.
            self.position = self.position.before(self._commits + 1)

    def _commit(self, event: Event) -> None:
        self._number()
        self._open, self._has_end, self._thread, self._statement_number = False, False, -1, 0
        self._half_read = HalfRead()
        self._commits += 1
        gtids = self.executed.committed(self._base.gtids, self._gtid)
        self._gtid = None
        at = event.end or self._base.pos
        self._base = BinlogPosition(
            self._file, at, gtids, server_id=event.server_id, second=event.second, history=self._history.number
        )

    def _statement(self, event: Event) -> None:
        text = binlog.query(event)
        if _BEGIN.match(text):
            self._begin(event)
            self._thread = binlog.thread_of(event)
            self._has_end = True
        elif _END.match(text):
            self._commit(event)
        elif not _WITHIN.match(text):
            # After this statement tables may have other columns.
            self._stale = set(self._tables)
            self._history.follow(event)
            tell(text, binlog.query_schema(event), self._tables)
            self._tell_statement(event)
            if not self._has_end:
                # The rows of CREATE TABLE … SELECT come after it, in the same transaction.
                self._commit(event)

    def _tell_statement(self, event: Event) -> None:
        """Collect the records that tell of a statement, unless they were delivered before."""
        self._statement_number += 1
        last = Row(self._commits + 1, self._statement_number)
        done = self.position.ahead.get(STATEMENTS, Row())
        gtid = None if self._gtid is None else self._gtid.text
        made = self._statements.of_statement(event, StatementPlace(self._file, gtid, self._at_us(event), self._thread))
        if made is not None and last > done and not self._half_read.has_whole_event:
            self._told_statements.append(Part(STATEMENTS, last, made))
            self._size_bytes += len(event.body)

    def _map(self, event: Event) -> None:
        number = binlog.table_number(event)
        body, rows = self._mapped.get(number, (b"", None))
        if body == event.body and (rows is None or self._is_current(rows.table)):
            return
        name = TableName(*binlog.table_name(event))
        is_wanted = self._chosen(name) or name == self._signal_table
        rows = self._logged_rows(name, binlog.table_map(event), event) if is_wanted else None
        if number not in self._mapped and len(self._mapped) >= _MAPS:
            del self._mapped[next(iter(self._mapped))]
        self._mapped[number] = (event.body, rows)

    def _logged_rows(self, name: TableName, mapped: binlog.TableMap, event: Event) -> LoggedRows | None:
        """Return the reader of a table's rows, or None if the table is gone, and its columns are not known."""
        if mapped.told is None:
            told = self._history.told(name, mapped, Place(self._file, event.end))
            if told is None:
                self._leave_out(name)
                return None
            mapped = replace(mapped, told=told)
        known = self._tables.get(name)
        if known is None or not known.fits(mapped) or name in self._stale:
            self._stale.discard(name)
            try:
                now = self._plan(name)
            except NoTableError:
                if known is None:
                    self._leave_out(name)
                    return None
                now = known
            known = self._tables[name] = self._plan_told(now, mapped)
        return known.rows(mapped)

    def _leave_out(self, name: TableName) -> None:
        if name not in self._gone:
            _log.warning("Table %s is gone: changes of it that the log still holds are left out.", name.full)
        self._gone.add(name)

    def _is_current(self, table: BinlogTable) -> bool:
        return self._tables.get(table.name) is table and table.name not in self._stale

    def _rows(self, event: Event) -> None:
        _, rows = self._mapped.get(binlog.table_number(event), (b"", None))
        if rows is None:
            return
        hidden = self._hidden(rows.table.name, event)
        if all(hidden) or self._half_read.has_whole_event:
            return
        found = binlog.rows(event)
        # Rows from before and after an ALTER are collected apart.
        place = self._collected.setdefault(id(rows), Collected(rows))
        place.contents.append(found.content)
        number = len(self._transactions)
        self._transactions.append(self._commits + 1)
        place.told.append(
            EventFacts(
                number,
                found.operation,
                self._at_us(event),
                event.server_id,
                event.start,
                self._half_read.rows_of_event,
                self._thread,
            )
        )
        place.gtids.append(None if self._gtid is None else self._gtid.text)
        place.transactions.append(self._transaction)
        place.files.append(self._file)
        place.hidden.append(hidden)
        self._size_bytes += len(found.content)

    def _at_us(self, event: Event) -> int:
        return event.second * 1_000_000 if self._committed_us is None else self._committed_us

    def _hidden(self, name: TableName, event: Event) -> Sequence[bool]:
        """Return a value per segment of the table: True if the segment was read after this change."""
        # Events within a compressed transaction have no end.
        end = event.end or (self._base.pos + 1 if self._base.file == self._file else 1)
        snapshots = [segment.seen for segment in self._fences.get(name.full, Fence()).segments]
        return [seen is not None and seen.holds(self._file, end, self._gtid) for seen in snapshots]

    def batches(self, limit: int) -> Iterator[Batch | BadRows]:
        """Yield batches of at most `limit` changes of a table, and move `position` behind them. Changes that no
        record can hold come before the batch that is behind them.
        """
        found = self._changes()
        fences, start = self._fences, self.position
        if start.numbered is not None:
            start = replace(start, numbered=self._numbered.runs())
        behind = self._behind()
        parts: list[Part] = []
        for collected, changes in zip(self._collected.values(), found, strict=True):
            is_fresh = undelivered(changes, collected, self.position)
            parts += self._told_before(collected, changes, ~is_fresh)
            fresh = self._unseen(changes.take(is_fresh), collected, fences)
            tell_changes(self._records, fresh, collected, self._signal_table)
            if not self._chosen(collected.rows.table.name):
                continue
            table = self._widened(fresh)
            for first in range(0, len(fresh), limit):
                some = fresh.take(slice(first, first + limit))
                made, why = without_bad(
                    some, len(some), Changes.take, partial(self._records.of_changes, table, collected)
                )
                rows = [BadRow(texts_of(some, row), error) for row, error in why.items()]
                bad = self._records.bad_rows(table, rows, self.position) if rows else None
                if made is not None or bad is not None:
                    rows_numbered = some.row if self.position.numbered is None else some.of_table
                    last = Row(int(some.transaction[-1]), int(rows_numbered[-1]))
                    told = None if self._tells is None else transactions_of(collected, some)
                    parts.append(Part(table.name.full, last, made, bad, told))
        if self._tells is not None:
            parts = self._tells.among(parts, self.position, self._commits + 1 if self._open else None)
        parts = [*self._told_statements, *parts]
        ahead = dict(self.position.ahead)
        for number, part in enumerate(parts, 1):
            if part.bad is not None:
                yield part.bad
            ahead[part.table] = part.last
            self.position = behind if number == len(parts) else replace(start, ahead=dict(ahead))
            if part.made is not None:
                yield replace(part.made, position=self._records.position(self.position))
        self.position, self._base = behind, behind
        self._collected, self._transactions, self._told_statements = {}, [], []
        self._size_bytes, self._commits = 0, 0

    def _told_before(self, collected: Collected, changes: Changes, told: Mask) -> Iterator[Part]:
        """Yield the changes that were delivered before, which `told` marks, where records count the events of
        transactions.
        """
        table = collected.rows.table
        if self._tells is None or not told.any() or not self._chosen(table.name):
            return
        old = changes.take(told)
        made, _ = without_bad(old, len(old), Changes.take, partial(self._records.of_changes, table, collected))
        yield Part(table.name.full, Row(), made, None, transactions_of(collected, old), was_told=True)

    def _changes(self) -> list[Changes]:
        """Return the rows of all collected events, numbered within their transactions."""
        images = [c.rows.layout.images(c.contents) for c in self._collected.values()]
        counts = np.zeros(len(self._transactions), np.int64)
        for collected, found in zip(self._collected.values(), images, strict=True):
            told = np.array(collected.told, np.int64)
            counts[told[:, 0]] = found.per_event // np.where(told[:, 1] == Operation.UPDATE, 2, 1)
        tables = [""] * len(self._transactions)
        for collected in self._collected.values():
            for facts in collected.told:
                tables[facts.number] = collected.rows.table.name.full
        open_ = self._commits + 1 if self._open else None
        numbers = self._rows_numbered.of_events(np.array(self._transactions, np.int64), tables, counts, open_)
        total = int(counts.sum())
        if total:
            self._row_bytes = max(1, self._size_bytes // total)
        return [
            numbered(collected, found, numbers)
            for collected, found in zip(self._collected.values(), images, strict=True)
        ]

    def _unseen(self, changes: Changes, collected: Collected, fences: Mapping[str, Fence[SnapshotEnd]]) -> Changes:
        fence = fences.get(changes.rows.table.name.full)
        if fence is None or not len(changes):
            return changes
        hidden = np.array(collected.hidden, np.bool_)[changes.event]
        return self._shown(changes, fence, hidden) if hidden.any() else changes

    def _behind(self) -> BinlogPosition:
        rows = self._rows_numbered
        reached = Row(1, rows.open_rows) if rows.open_rows else Row()
        if not self._commits:
            reached = max(reached, self.position.reached)
        ahead = self.position.behind(self._commits)
        is_old = self.position.numbered is None and (ahead or not self._commits)
        if is_old:
            # Statements have their own numbers, which are not those of the rows in their transaction.
            ahead = {table: at for table, at in ahead.items() if at > reached or table == STATEMENTS}
        else:
            ahead |= {t: max(ahead.get(t, Row()), Row(1, n)) for t, n in rows.open_rows_by_table.items()}
        self._numbered.move(keeps_last=self._open)
        gtids = self.executed.behind(self._base.gtids)
        for part in self._told_statements:
            if part.last.transaction > self._commits:
                ahead[STATEMENTS] = Row(part.last.transaction - self._commits, part.last.row)
        self._fences = ahead_of(self._fences, self._base.file, self._base.pos)
        return replace(
            self._base,
            gtids=gtids,
            reached=reached,
            ahead=ahead,
            numbered=None if is_old else self._numbered.runs() if ahead else (),
            snapshot_done=None,
            fences=self._fences,
        )

    def _widened(self, changes: Changes) -> BinlogTable:
        """Return the table, with columns nullable that hold NULL in these changes."""
        table = changes.rows.table
        for places in (changes.before, changes.after):
            table = table.widened(changes.images.take(places[places >= 0]))
        if self._tables.get(table.name) is changes.rows.table:
            self._tables[table.name] = table
        return table
