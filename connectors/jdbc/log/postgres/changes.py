"""Makes batches of events, with positions, from decoded changes of the log. Asks the catalog about tables that are
new.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from connect import __version__
from connect.api.errors import SchemaError
from connect.api.records import Batch, SourcePosition
from connectors.jdbc.log.incremental.chunked_reading import ChunkedReading
from connectors.jdbc.log.postgres.delivered_transactions import DeliveredTransactions
from connectors.jdbc.log.postgres.notes import NOTES, Notes, TellsNotes, note_places, undelivered
from connectors.jdbc.log.postgres.origins import Origin, source_members, transaction_ids
from connectors.jdbc.log.postgres.pgoutput import (
    DELETE,
    INSERT,
    UPDATE,
    Changes,
    LogState,
    Messages,
    Relation,
    Truncation,
    decode,
)
from connectors.jdbc.log.postgres.segments import key_texts, only, sent_keys, shown
from connectors.jdbc.log.postgres.snapshot import SnapshotRows
from connectors.jdbc.log.postgres.tables import LogTable, LogTables
from connectors.jdbc.log.shared import envelope
from connectors.jdbc.log.shared.cells import NULL, Buffer, Cells, Mask
from connectors.jdbc.log.shared.column_change import changed_texts
from connectors.jdbc.log.shared.position import (
    Coordinate,
    LogPosition,
    TransactionProgress,
    partition_of,
    told_ahead_of,
)
from connectors.jdbc.log.shared.reading_options import PLAIN, ReadingOptions
from connectors.jdbc.log.shared.snapshot_segments import Key
from connectors.jdbc.log.shared.snapshot_visibility import ahead_of, hidden
from connectors.jdbc.log.shared.transactions import CountedEvents, Transaction, Transactions
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRow, BadRows, text_of, without_bad

_log = logging.getLogger(__name__)
_TRANSACTIONS: Final = "transactions"
"""No table has this name. Records that tell of transactions come last, so that a position need not hold them as
ahead.
"""
_CODES = {INSERT: "c", UPDATE: "u", DELETE: "d"}


class TableEvents(NamedTuple):
    """Holds events of one table, the last change among them, and bad rows. `events` is None if all changes are bad.

    `transactions` are those of the events by number. With `was_told` the events were delivered before: they are counted
    in their transactions, and not sent again.
    """

    table: str
    batch: Batch | None
    last: Coordinate
    bad: BadRows | None = None
    transactions: Mapping[int, Transaction] = MappingProxyType({})
    was_told: bool = False


class ChangeEvents:
    """Makes batches from the log's messages. Owned by the reading thread."""

    def __init__(
        self,
        tables: LogTables,
        config: JdbcSourceConfig,
        database: str,
        chosen: Callable[[TableName], bool],
        options: ReadingOptions = PLAIN,
        *,
        notes: TellsNotes | None = None,
    ) -> None:
        self._tables = tables
        self._chosen = chosen
        self._placeholder = config.unavailable_placeholder
        self._rules = options.rules(config)
        self._signal_table = options.signal_table
        self._notes = notes
        self.chunked: ChunkedReading[int] | None = None
        """It hears of changes and signals. It is None if no table is read again."""
        self.delivered = DeliveredTransactions()
        self._constant = {
            "version": __version__, "connector": "postgresql", "name": config.topic_prefix, "db": database,
        }  # fmt: skip
        topic = options.transaction_topic
        self._transactions = Transactions(topic) if topic else None
        self._known: dict[int, LogTable] = {}
        self._left_out: set[TableName] = set()
        self._prefix = config.topic_prefix
        self._told = 0

    def of_log(
        self, messages: Messages, state: LogState, position: LogPosition
    ) -> Iterator[tuple[Batch | BadRows | None, LogPosition]]:
        """Yield batches with the position behind each; at last None and the position behind all messages.

        Changes that no record can hold come before the batch that is behind them. Changes that were delivered before
        `position` are left out, as the server sends open transactions again after a restart.
        """
        parts = [part for item in decode(messages, state) for part in self._parts(item, state, position)]
        if self._transactions is not None:
            parts = self._with_transactions(self._transactions, parts, state, position)
        behind = _behind(state, position, parts)
        ahead = dict(position.ahead)
        for number, part in enumerate(parts, 1):
            ahead[part.table] = part.last
            if part.bad is not None:
                yield part.bad, position
            if part.batch is not None:
                here = behind if number == len(parts) else replace(position, ahead=dict(ahead))
                yield replace(part.batch, position=self.source_position(here)), here
        yield None, behind

    @staticmethod
    def _with_transactions(
        transactions: Transactions, parts: Sequence[TableEvents], state: LogState, position: LogPosition
    ) -> list[TableEvents]:
        """Return the events with their places in transactions, and behind them the records of where transactions begin
        and end.

        A reader that goes on within a transaction gets all of it from the server again, and counts from its begin.
        """
        counted = [part for part in parts if part.batch is not None]
        events = [CountedEvents(p.table, p.batch, p.transactions) for p in counted if p.batch is not None]

        def ended_id(one: Transaction) -> str:
            return f"{one.id.partition(':')[0]}:{state.ends.get(one.number, one.number)}"

        open_ = state.final_lsn if state.is_open else None
        batches, told = transactions.numbered(events, open_=open_, reached=position.reached, ended_id=ended_id)
        made = [part._replace(batch=batch) for part, batch in zip(counted, batches, strict=True) if not part.was_told]
        made += [part for part in parts if part.batch is None]
        return made if told is None else [*made, TableEvents(_TRANSACTIONS, told, Coordinate())]

    def of_snapshot(
        self, table: LogTable, rows: SnapshotRows, position: LogPosition, xid: int, clock_us: int
    ) -> tuple[Batch | None, BadRows | None, LogTable]:
        """Return the rows of a snapshot as read events, the rows that no record can hold, and the table.

        The table is another one if rows show that a column can hold NULL.
        """
        table = self._fitting(table, rows.cells)
        batch, bad = without_bad(
            rows, rows.count, SnapshotRows.take, lambda some: self._read(table, some, position, xid, clock_us)
        )
        texts = [(_texts(table, rows.buffer, rows.cells, row), error) for row, error in bad.items()]
        return batch, self._bad(table, texts, position), table

    def _read(
        self, table: LogTable, rows: SnapshotRows, position: LogPosition, xid: int, clock_us: int
    ) -> Batch | None:
        after = table.rows(rows.buffer, rows.cells, self._placeholder)
        source = self._source(table.relation) | {
            "ts_ms": clock_us // 1000, "ts_us": clock_us, "ts_ns": clock_us * 1000,
            "snapshot": "true" if rows.marks is None else rows.marks,
            "sequence": f'[null,"{position.commit_lsn}"]', "txId": xid, "lsn": position.commit_lsn,
        }  # fmt: skip
        ops = np.full(rows.count, envelope.READ, np.uint8)
        none = np.empty(0, np.int64)
        made = envelope.ChangedRows(ops, none, None, np.arange(rows.count), after, source)
        return envelope.batch(table.events, made, self._rules)

    def _bad(
        self, table: LogTable, rows: Sequence[tuple[Mapping[str, str | None], SchemaError]], position: LogPosition
    ) -> BadRows | None:
        if not rows:
            return None
        form = table.events
        found = [BadRow(changed_texts(texts, form.row, form.changes), error) for texts, error in rows]
        return BadRows.of(found, form.topic, table.format.schema.name, form.key, self.source_position(position))

    def source_position(self, position: LogPosition) -> SourcePosition:
        """Return a position as the framework stores it."""
        progress = {} if self.chunked is None else self.chunked.progress.offset()
        return SourcePosition(partition_of(self._prefix), {**position.offset(), **progress})

    def _parts(
        self, item: Changes | Truncation | Notes, state: LogState, position: LogPosition
    ) -> Iterator[TableEvents]:
        if isinstance(item, Notes):
            yield from self._noted(item, state, position)
            return
        self.delivered.add(item.origin.xid)
        if isinstance(item, Truncation):
            yield from self._truncated(item, state, position)
            return
        if TableName(item.relation.schema, item.relation.table) == self._signal_table:
            self._tell_signals(item)
        table = self._table(item.relation)
        if table is None:
            return
        fresh = _fresh(item.origin, table.name.full, position) & self._untold(item.origin, position.told)
        if self._transactions is not None and not fresh.all():
            yield from self._told_events(table, only(item, ~fresh), state)
        item = only(item, fresh)
        if len(item.origin) and position.fences:
            item = shown(item, table, position.fence_of(table.name.full), self._tables.database)
        if self.chunked is not None and self.chunked.watches(table.name.full):
            self.chunked.touched(self._touched(table, item))
        if len(item.origin):
            made, found = without_bad(item, len(item.kind), only, lambda some: self._batch(table, some))
            last = Coordinate(int(item.origin.final_lsn[-1]), int(item.origin.place[-1]))
            bad = self._bad(table, [(_change_texts(table, item, row), error) for row, error in found.items()], position)
            if made is not None or bad is not None:
                yield TableEvents(table.name.full, made, last, bad, self._transactions_of(item.origin, state.begins))

    def _told_events(self, table: LogTable, item: Changes, state: LogState) -> Iterator[TableEvents]:
        made, _ = without_bad(item, len(item.kind), only, lambda some: self._batch(table, some))
        if made is not None:
            told = self._transactions_of(item.origin, state.begins)
            yield TableEvents(table.name.full, made, Coordinate(), None, told, was_told=True)

    def _noted(self, item: Notes, state: LogState, position: LogPosition) -> Iterator[TableEvents]:
        fresh = undelivered(item, position)
        told = ~fresh & ~item.stands_alone
        if self._transactions is not None and told.any():
            yield self._noted_events(item.take(told), state)._replace(last=Coordinate(), was_told=True)
        if fresh.any():
            yield self._noted_events(item.take(fresh), state)

    def _noted_events(self, item: Notes, state: LogState) -> TableEvents:
        places = None if self._transactions is None else note_places(item)
        made = None if self._notes is None else self._notes(item, self._constant, places)
        last = Coordinate(int(item.origin.final_lsn[-1]), int(item.origin.place[-1]))
        named = self._transactions_of(item.origin.take(~item.stands_alone), state.begins)
        return TableEvents(NOTES, made, last, None, named)

    def _transactions_of(self, origin: Origin, begins: Mapping[int, int]) -> Mapping[int, Transaction]:
        """Return the transactions of changes by number. `begins` has the begins of those that were not open before."""
        if self._transactions is None:
            return {}
        numbers, first = np.unique(origin.final_lsn, return_index=True)
        places = zip(numbers.tolist(), origin.xid[first].tolist(), origin.commit_us[first].tolist(), strict=True)
        return {
            number: Transaction(number, f"{xid}:{begins.get(number, number)}", commit_us // 1000)
            for number, xid, commit_us in places
        }

    def _provisional(self, origin: Origin) -> envelope.ProvisionalPlaces | None:
        if self._transactions is None:
            return None
        return envelope.ProvisionalPlaces(transaction_ids(origin), origin.final_lsn, origin.place)

    def _touched(self, table: LogTable, item: Changes) -> set[Key]:
        """Return the keys of rows whose events are sent."""
        before, after = (
            dict(zip(places.tolist(), key_texts(table, item.buffer, rows), strict=True))
            for places, rows in ((item.old, item.before), (item.new, item.after))
        )
        return sent_keys([_CODES[kind] for kind in item.kind.tolist()], before, after, self._rules.skipped)

    def _tell_signals(self, item: Changes) -> None:
        if self.chunked is None:
            return
        inserted = only(item, item.kind == INSERT)
        columns = [column.to_pylist() for column in inserted.buffer.values(inserted.after)[:3]]
        for number, row in enumerate(zip(*columns, strict=True)):
            texts = [None if text is None else text.decode() for text in row]
            self.chunked.told(texts, f"{inserted.origin.final_lsn[number]}/{inserted.origin.place[number]}")

    def _untold(self, origin: Origin, told: TransactionProgress | None) -> Mask:
        """Return a mask of the changes that Debezium did not deliver before this connector took over."""
        if told is None:
            return np.ones(len(origin), bool)
        is_same = origin.xid == told.xid
        at_end = np.flatnonzero(is_same & (origin.lsn == told.lsn))
        # Several rows of one statement may share a place in the log, and come in several chunks.
        left = max(0, told.events - self._told)
        self._told += min(left, len(at_end))
        untold: Mask = ~(is_same & (origin.lsn < told.lsn))
        untold[at_end[:left]] = False
        return untold

    def _batch(self, table: LogTable, item: Changes) -> Batch | None:
        table = self._fitting(table, item.after)
        full = item.relation.identity == "f"
        after = table.rows(item.buffer, item.after, self._placeholder)
        before = table.old_rows(item.buffer, item.before) if len(item.old) else None
        ops = np.full(len(item.kind), envelope.CREATE, np.uint8)
        ops[item.kind == UPDATE], ops[item.kind == DELETE] = envelope.UPDATE, envelope.DELETE
        source = self._source(item.relation) | source_members(item.origin)
        places = self._provisional(item.origin)
        rows = envelope.ChangedRows(ops, item.old, before, item.new, after, source, full, places)
        return envelope.batch(table.events, rows, self._rules)

    def _truncated(self, item: Truncation, state: LogState, position: LogPosition) -> Iterator[TableEvents]:
        for relation in item.relations:
            if self.chunked is not None:
                self.chunked.emptied(TableName(relation.schema, relation.table).full)
            table = self._table(relation)
            if table is None or not _fresh(item.origin, table.name.full, position).all():
                continue
            seen = hidden(position.fence_of(table.name.full), item.origin.xid, item.origin.final_lsn)
            if all(mask.all() for mask in seen):
                continue
            if "t" in self._rules.skipped:
                _log.warning(
                    "Table %s was truncated: its rows stay in topic %s. skipped.operations=none sends an event.",
                    table.name.full,
                    table.events.topic,
                )
                continue
            source = self._source(relation) | source_members(item.origin)
            last = Coordinate(int(item.origin.final_lsn[0]), int(item.origin.place[0]))
            made = envelope.truncation(table.events, source, self._rules, self._provisional(item.origin))
            yield TableEvents(table.name.full, made, last, None, self._transactions_of(item.origin, state.begins))

    def _table(self, relation: Relation) -> LogTable | None:
        name = TableName(relation.schema, relation.table)
        if not self._chosen(name):
            if name not in self._left_out:
                self._left_out.add(name)
                _log.info("The publication holds table %s, which the table filter leaves out.", name.full)
            return None
        known = self._known.get(relation.oid)
        if known is None or known.relation != relation:
            known = self._known[relation.oid] = self._tables.plan(relation)
        return known

    def _fitting(self, table: LogTable, cells: Sequence[Cells]) -> LogTable:
        columns = table.null_columns(cells, NULL)
        if columns:
            table = self._known[table.relation.oid] = self._tables.widened(table, columns)
        return table

    def _source(self, relation: Relation) -> dict[str, object]:
        return {**self._constant, "schema": relation.schema, "table": relation.table}


def _change_texts(table: LogTable, item: Changes, row: int) -> dict[str, str | None]:
    """Return the row as it is after a change, or before it for a delete, as texts by column."""
    place = np.flatnonzero(item.new == row)
    if len(place):
        return _texts(table, item.buffer, item.after, int(place[0]))
    return _texts(table, item.buffer, item.before, int(np.flatnonzero(item.old == row)[0]))


def _texts(table: LogTable, buffer: Buffer, cells: Sequence[Cells], row: int) -> dict[str, str | None]:
    values = buffer.values([column.take(np.array([row])) for column in cells])
    return {plan.name: text_of(found, 0) for plan, found in zip(table.format.columns, values, strict=True)}


def _behind(state: LogState, position: LogPosition, parts: Sequence[TableEvents]) -> LogPosition:
    reached = Coordinate(state.final_lsn, state.place) if state.is_open and state.place else Coordinate()
    if position.reached.final_lsn >= state.commit_end_lsn:
        # These changes were delivered before the restart.
        reached = max(reached, position.reached)
    ahead = {t: at for t, at in position.ahead.items() if at > reached and at.final_lsn >= state.commit_end_lsn}
    # Notes are numbered by themselves, so that `reached` says nothing of them.
    noted = max([position.ahead.get(NOTES, Coordinate()), *(part.last for part in parts if part.table == NOTES)])
    ahead.pop(NOTES, None)
    if noted.final_lsn >= state.commit_end_lsn > 0:
        ahead[NOTES] = noted
    fences = ahead_of(position.fences, state.commit_end_lsn)
    told = told_ahead_of(position.told, state.commit_end_lsn)
    return replace(
        position,
        commit_lsn=state.commit_end_lsn,
        reached=reached,
        ahead=ahead,
        xid=state.xid,
        commit_us=state.commit_us,
        snapshot=None,
        fences=fences,
        told=told,
    )


def _fresh(origin: Origin, table: str, position: LogPosition) -> Mask:
    done = max(position.reached, position.ahead.get(table, Coordinate()))
    fresh: Mask = (origin.final_lsn > done.final_lsn) | (
        (origin.final_lsn == done.final_lsn) & (origin.place > done.place)
    )
    return fresh
