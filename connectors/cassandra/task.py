"""The source task: its splits one after the other, each resumed behind its last whole partition."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import Final

from cassandra.cluster import ResponseFuture
from cassandra.query import PreparedStatement

from connect.api.connector import SourceContext
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connectors.cassandra.chosen import chosen_tables
from connectors.cassandra.config import CassandraTaskConfig
from connectors.cassandra.pages import Page
from connectors.cassandra.rows import TableRows
from connectors.cassandra.schema_reader import read_schemas
from connectors.cassandra.session import Database, page_of
from connectors.cassandra.split_reader import Asked, SplitReader
from connectors.cassandra.splits import Progress, Split, cut, progress_of, share_of
from connectors.cassandra.statements import select_range
from connectors.cassandra.tables import Table

log = logging.getLogger(__name__)
IDLE_S: Final = 1.0


class CassandraSourceTask:
    """Reads its share of the token ranges of each table. Owned by the task thread."""

    def __init__(self, config: CassandraTaskConfig) -> None:
        self._config = config
        self._server = _Server(Database(config))
        self._waiting: deque[tuple[Split, Progress]] = deque()
        self._reader: SplitReader | None = None
        self._rows: dict[Table, TableRows] = {}
        self._context: SourceContext | None = None

    def open(self, ctx: SourceContext) -> None:
        """Connect, and find the splits that are not read yet."""
        self._context = ctx
        for table in chosen_tables(read_schemas(self._server.database), self._config):
            self._rows[table] = TableRows(table, f"{self._config.topic_prefix}{table.title}")
            for split in share_of(cut(table, self._config.table_splits), self._config.share, self._config.share_of):
                progress = progress_of(split, ctx.stored_offset(split.partition))
                if not progress.finished:
                    self._waiting.append((split, progress))

    def poll(self, deadline: Deadline) -> Batch | None:
        """The rows of one page. A batch without rows tells that a split has ended."""
        while not deadline.expired:
            reader = self._reading()
            if reader is None:
                deadline.wait(IDLE_S)
                continue
            try:
                given = reader.next(deadline)
            except RetriableError:
                raise
            except ConnectError as error:
                self._leave_aside(reader.split.table, error)
                continue
            if given is None:
                return None
            return self._batch(reader, given.page, is_last=given.is_last)
        return None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Nothing is pruned."""

    def close(self) -> None:
        """Close the connections."""
        self._server.database.close()

    def _reading(self) -> SplitReader | None:
        if self._reader is None and self._waiting:
            split, progress = self._waiting.popleft()
            self._reader = SplitReader(self._server, split, progress, self._config.fetch_size)
        if self._context is not None:
            self._context.gauge("splits_left", len(self._waiting) + (self._reader is not None))
        return self._reader

    def _batch(self, reader: SplitReader, page: Page, *, is_last: bool) -> Batch:
        batch, progress = self._rows[reader.split.table].batch(reader.split, page, reader.progress, is_last=is_last)
        reader.reached(progress)
        if is_last:
            self._reader = None
        return batch

    def _leave_aside(self, table: Table, error: ConnectError) -> None:
        """A table that is gone, or may not be read, does not keep the others from being read."""
        log.error("Table %s is left aside from here on: %s", table.title, error)
        self._reader = None
        self._waiting = deque(entry for entry in self._waiting if entry[0].table != table)


class _Server:
    """Asks for the pages of splits, with one prepared statement per table."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._statements: dict[Table, PreparedStatement] = {}

    def ask(self, split: Split, after: int, fetch_size: int) -> ResponseFuture:
        """Begin to read the rows of a split above a token."""
        table = split.table
        if table not in self._statements:
            self._statements[table] = self.database.prepared(
                select_range(table), doing=f"preparing to read {table.title}"
            )
        return self.database.ask(self._statements[table], (after, split.upto), fetch_size)

    def page(self, asked: Asked) -> Page:
        """The page that has come."""
        return page_of(asked, doing="reading a page")
