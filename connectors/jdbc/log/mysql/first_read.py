"""Reads tables of MariaDB and MySQL for the first time, one after the other, each page with the place behind it.

Owned by the reading thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from connectors.jdbc.log.binlog.position import BinlogPosition, SnapshotEnd, ahead_of
from connectors.jdbc.log.mysql.first_read_repeats import of_order
from connectors.jdbc.log.mysql.snapshot import fence_of, planned_pages
from connectors.jdbc.log.mysql.tables import BinlogTable
from connectors.jdbc.log.shared.reading_options import PLAIN, ReadingOptions
from connectors.jdbc.log.shared.session import LogSession
from connectors.jdbc.log.shared.snapshot_marks import marks
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRow


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Holds some rows of a table, in order. `marks` are the values of `snapshot` in the source block of their
    events.
    """

    table: BinlogTable
    values: pa.StructArray
    position: BinlogPosition
    is_first: bool
    bad: Sequence[BadRow] = ()
    marks: pa.Array | str = "true"


class FirstRead:
    """Reads the tables that `position` does not name as read. It moves `position` behind each page that `pages`
    gives.
    """

    def __init__(
        self,
        session: LogSession,
        tables: Mapping[TableName, BinlogTable],
        position: BinlogPosition,
        seen: SnapshotEnd | None,
        options: ReadingOptions = PLAIN,
    ) -> None:
        """Take what the read needs.

        `seen` is the snapshot in which the tables are read, or None if the log begins behind it.
        """
        self._session = session
        self._tables = tables
        self._seen = seen
        self._options = options
        self.position = position

    def pages(self) -> Iterator[ReadPage]:
        """Yield the rows page by page."""
        begun = self.position.snapshot_table
        # The position holds how far the table was read that was begun.
        for name, table in sorted(self._tables.items(), key=lambda item: item[0].full != begun):
            done = self.position.snapshot_done
            if done is not None and name.full not in done and self._options.reads_first(name):
                yield from self._pages_of(name, table)

    def _pages_of(self, name: TableName, table: BinlogTable) -> Iterator[ReadPage]:
        config = self._session.config
        self._session.begin_table(of_order(name, table.events.key, table.order, config.max_batch_size))
        fence = fence_of(self.position, table, self._seen)
        last = self.position.snapshot_key if fence.bounds else ()
        fences = {**self.position.fences, name.full: fence}
        self.position = replace(self.position, snapshot_key=last, fences=fences)
        is_first = not last
        select = self._options.selects.get(name.full, "")
        for page in planned_pages(self._session.database, config, table, last, select=select):
            self.position = replace(self.position, snapshot_table=name.full, snapshot_key=page.last_key)
            yield ReadPage(table, page.values, self.position, is_first, page.bad)
            is_first = is_first and not len(page.values)
        self.position = replace(
            self.position,
            snapshot_done=(*(self.position.snapshot_done or ()), name.full),
            snapshot_table="",
            snapshot_key=(),
            fences=ahead_of(self.position.fences, "", 0),
        )


def marked(pages: Iterator[ReadPage], *, is_first: bool) -> Iterator[ReadPage]:
    """Yield each page with its marks once the next page with rows is there: only that tells which row is the last one.

    `is_first` is True if no page of this read came before.
    """
    waiting: ReadPage | None = None
    without_rows: list[ReadPage] = []
    for page in pages:
        if not len(page.values):
            without_rows.append(page)
            continue
        if waiting is not None:
            yield _with_marks(waiting, is_first=is_first, ends_table=page.table is not waiting.table, is_last=False)
            is_first = False
        yield from without_rows
        waiting, without_rows = page, []
    if waiting is not None:
        yield _with_marks(waiting, is_first=is_first, ends_table=True, is_last=True)
    yield from without_rows


def _with_marks(page: ReadPage, *, is_first: bool, ends_table: bool, is_last: bool) -> ReadPage:
    found = marks(
        len(page.values),
        starts_table=page.is_first,
        starts_all=page.is_first and is_first,
        ends_table=ends_table,
        ends_all=is_last,
    )
    return replace(page, marks=found)
