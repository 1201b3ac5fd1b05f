"""The source task: its splits one after the other, each gone on with behind its last row."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import Final

from connect.api.connector import SourceContext
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connectors.cassandra.chosen import chosen_tables
from connectors.cassandra.config import CassandraTaskConfig
from connectors.cassandra.page_size import PageSize
from connectors.cassandra.rows import TableRows
from connectors.cassandra.schema_reader import read_schemas
from connectors.cassandra.session import Database
from connectors.cassandra.split_reader import SplitReader
from connectors.cassandra.splits import Progress, Split, cut, progress_of, share_of
from connectors.cassandra.tables import Table

log = logging.getLogger(__name__)
IDLE_S: Final = 1.0


class CassandraSourceTask:
    """Reads its share of the token ranges of each table. Owned by the task thread."""

    def __init__(self, config: CassandraTaskConfig) -> None:
        self._config = config
        self._database = Database(config)
        self._waiting: deque[tuple[Split, Progress]] = deque()
        self._reader: SplitReader | None = None
        self._rows: dict[Table, TableRows] = {}
        self._sizes: dict[Table, PageSize] = {}
        self._context: SourceContext | None = None

    def open(self, ctx: SourceContext) -> None:
        """Connect, and find the splits that are not read yet."""
        self._context = ctx
        for table in chosen_tables(read_schemas(self._database), self._config):
            self._rows[table] = TableRows(table, f"{self._config.topic_prefix}{table.title}")
            self._sizes[table] = PageSize(self._config.fetch_size, self._config.fetch_max_bytes)
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
                page = reader.next(deadline)
                if page is None:
                    return None
                batch = self._rows[reader.split.table].batch(reader.split, page, is_last=reader.finished)
            except RetriableError:
                raise
            except ConnectError as error:
                self._leave_aside(reader.split.table, error)
                continue
            if reader.finished:
                self._reader = None
            if batch.position is not None:
                return batch
        return None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Nothing is pruned."""

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def _reading(self) -> SplitReader | None:
        if self._reader is None and self._waiting:
            split, progress = self._waiting.popleft()
            self._reader = SplitReader(self._database, split, progress, self._sizes[split.table])
        if self._context is not None:
            self._context.gauge("splits_left", len(self._waiting) + (self._reader is not None))
        return self._reader

    def _leave_aside(self, table: Table, error: ConnectError) -> None:
        """A table that is gone, or may not be read, does not keep the others from being read."""
        log.error("Table %s is left aside from here on: %s", table.title, error)
        self._reader = None
        self._waiting = deque(entry for entry in self._waiting if entry[0].table != table)
