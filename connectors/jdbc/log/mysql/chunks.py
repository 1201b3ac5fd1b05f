"""Reads one chunk of a table of MariaDB or MySQL in a separate transaction. Owned by the reading thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from connect.api.records import Batch
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.pages import Page, PageRules
from connectors.jdbc.database.query import Source, table_source
from connectors.jdbc.log.binlog.position import BinlogPosition, Place
from connectors.jdbc.log.incremental.chunked_reading import Chunk, Mask, UnseenTransactionsError
from connectors.jdbc.log.incremental.progress import TableProgress
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.flavour import ExecutedTransactions
from connectors.jdbc.log.mysql.snapshot import begin_snapshot, executed_gtids, log_end
from connectors.jdbc.log.mysql.tables import BinlogTable
from connectors.jdbc.log.shared.snapshot_segments import Key
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRows


@dataclass(slots=True)
class MySqlChunks:
    """Reads chunks in the order of the key. Owned by the reading thread.

    `position` is the place up to which the log was read, `read` knows the transactions that were read, and `changed_to`
    returns the place behind the last change that was read since the start, or None if there is none.
    """

    database: Database
    plan: Callable[[TableName], BinlogTable]
    records: BinlogRecords
    position: Callable[[], BinlogPosition]
    read: ExecutedTransactions
    changed_to: Callable[[], Place | None]
    quote: bool
    _shows_stored: bool = False
    """True once MariaDB's tables have shown the transactions before the start."""

    def chunk(self, name: TableName, progress: TableProgress, rows: int) -> Chunk[tuple[int, int]] | None:
        """Return the next rows of a table, or None if it has no key by which rows can be ordered.

        Where a key's type has no order here, rows are ordered by a digest of other columns. Rows that are alike in
        these would be parted by the end of a chunk, and the next one would begin behind all of them.

        UnseenTransactionsError: the tables do not show all transactions yet that were read from the log.
        """
        table = self.plan(name)
        if not table.events.key or not set(table.events.key) <= {column.name for column in table.order.columns}:
            return None
        # A transaction that is open already would show the table as it was at an earlier moment.
        self.database.end_transaction()
        try:
            high = self._begun()
            upto = progress.upto or next(iter(self._keys(table, self._last(table, progress.condition))), ())
            page = self._page(table, self._next(table, progress, rows), rows) if upto else None
        finally:
            self.database.end_transaction()
        keys = [] if page is None else _keys_of(table, page)
        high = high or Place(*log_end(self.database)).order
        return Chunk(name.full, keys, upto, high, partial(self._made, table, page))

    def _begun(self) -> tuple[int, int] | None:
        """Begin a transaction that shows all that was read from the log. Return its place in the log, if that is known.

        MySQL's log without GTIDs does not tell what its tables show.
        """
        if self.database.is_mariadb:
            here = begin_snapshot(self.database, tells_gtids=not self._shows_stored)
            place, changed_to = Place(here.file, here.pos), self.changed_to()
            unseen = None if self._shows_stored else self.read.unseen(here.gtids, "")
            # For the GTIDs the server reads its log file up to the place, so they are asked for until they fit once.
            self._shows_stored |= unseen is None and bool(here.gtids)
            if unseen is None and changed_to is not None and changed_to.order > place.order:
                unseen = f"before {changed_to.file}, {changed_to.pos}"
        else:
            place = None
            server, visible = executed_gtids(self.database)
            self.database.end_transaction()
            unseen = None if visible is None else self.read.unseen(visible, server)
        if unseen is not None:
            raise UnseenTransactionsError(unseen)
        return None if place is None else place.order

    def _made(self, table: BinlogTable, page: Page | None, left: Mask) -> Iterator[Batch | BadRows]:
        if page is None:
            return
        here, is_good = self.position(), np.array([row not in page.bad for row in range(len(page))], np.bool_)
        bad = [row for number, row in page.bad.items() if left[number]]
        if bad:
            yield self.records.bad_rows(table, bad, here)
        values = page.values.filter(pa.array(left[is_good]))
        ms = time.time_ns() // 1_000_000
        batch = self.records.of_snapshot(table, values, here, ms, "incremental") if len(values) else None
        if batch is not None:
            yield batch

    def positioned(self, batch: Batch) -> Batch:
        """Return the batch with the present position behind it."""
        return replace(batch, position=self.records.position(self.position()))

    def _next(self, table: BinlogTable, progress: TableProgress, rows: int) -> sa.Select[Any]:
        statement = table.order.statement(self._source(table), progress.after).limit(rows)
        return statement.where(sa.text(_escaped(progress.condition))) if progress.condition else statement

    def _last(self, table: BinlogTable, condition: str) -> sa.Select[Any]:
        statement = table.order.last(self._source(table))
        return statement.where(sa.text(_escaped(condition))) if condition else statement

    def _source(self, table: BinlogTable) -> Source:
        return table_source(table.name, table.format.columns, quote=self.quote)

    def _keys(self, table: BinlogTable, statement: sa.Select[Any]) -> Sequence[Key]:
        return _keys_of(table, self._page(table, statement, 1))

    def _page(self, table: BinlogTable, statement: sa.Select[Any], rows: int) -> Page:
        columns = table.format.columns
        places = [i for c in table.order.columns for i, plan in enumerate(columns) if plan.name == c.name]
        rules = PageRules(
            rows, table.format, tuple([len(columns)] if table.order.is_digest else places), sets_bad_aside=True
        )
        pages = self.database.pages(statement, rules, f"reading a chunk of table {table.name.full}")
        page = pages.next()
        pages.close()
        return page


def _keys_of(table: BinlogTable, page: Page) -> Sequence[Key]:
    if not len(page):
        return []
    if table.order.is_digest:
        return [(str(digest),) for digest in page.kept[0]]
    names = [column.name for column in table.order.columns]
    return table.order.keys(dict(zip(names, page.kept, strict=True)))


def _escaped(condition: str) -> str:
    return f"({condition})".replace(":", "\\:")
