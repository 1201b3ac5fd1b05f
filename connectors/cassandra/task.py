"""The source task: its splits one after the other, each gone on with behind its last row."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.connector import SourceContext
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connectors.cassandra.chosen import chosen_tables, unreadable
from connectors.cassandra.config import CassandraTaskConfig
from connectors.cassandra.page_rows import page_rows
from connectors.cassandra.page_size import PageSize
from connectors.cassandra.pages import Page
from connectors.cassandra.rows import PageRows
from connectors.cassandra.schema_reader import read_schemas
from connectors.cassandra.session import Database, TableGoneError
from connectors.cassandra.split_reader import SplitReader
from connectors.cassandra.splits import Progress, Split, cut, progress_of, share_of
from connectors.cassandra.sweeps import Sweep, sweep_of
from connectors.cassandra.tables import Table

log = logging.getLogger(__name__)
IDLE_S: Final = 1.0
LATE_S: Final = 4.0
"""A page that takes longer is told of in the task's status."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A sweep of a split, from a place on. `due_s`: when it may begin, on the monotonic clock. `sweep` None: the one
    behind `done`, as the time then has it.
    """

    split: Split
    progress: Progress
    due_s: float
    sweep: Sweep | None = None
    done: Sweep | None = None


class CassandraSourceTask:
    """Reads its share of the token ranges of each table. Owned by the task thread."""

    def __init__(self, config: CassandraTaskConfig) -> None:
        self._config = config
        self._mode = config.sweep_mode
        self._database = Database(config)
        self._waiting: deque[_Work] = deque()
        self._reading: tuple[SplitReader, Sweep] | None = None
        self._rows: dict[Table, PageRows] = {}
        self._sizes: dict[Table, PageSize] = {}
        self._context: SourceContext | None = None
        self._paced_s = 0.0
        """Before this time no more rows are asked for, on the monotonic clock."""
        self._aside: dict[str, str] = {}
        self._late_since_s: float | None = None
        """Since when a page is waited for, on the monotonic clock; None: the last one came."""
        self._doubted: set[Table] = set()
        """Refused by a node, and then the nodes agreed on the schema."""

    def open(self, ctx: SourceContext) -> None:
        """Connect, and find where each split stands."""
        self._context = ctx
        schemas = read_schemas(self._database)
        tables = chosen_tables(schemas, self._config)
        self._aside = dict(unreadable(schemas, self._config))
        self._explain()
        self._rows = page_rows(tables, self._config, self._database)
        for table in tables:
            self._sizes[table] = PageSize(self._config.fetch_size, self._config.fetch_max_bytes)
            for split in share_of(cut(table, self._config.table_splits), self._config.share, self._config.share_of):
                stored = ctx.stored_offset(split.partition)
                progress, sweep = progress_of(split, stored), sweep_of(stored)
                if progress.finished and sweep is not None:
                    self._rest(split, sweep, 0.0 if self._config.is_incremental else self._interval_s)
                else:
                    self._waiting.append(_Work(split, progress, 0.0, sweep or self._mode.first(_now_ms())))

        self._waiting = deque(sorted(self._waiting, key=lambda work: work.due_s))

    def poll(self, deadline: Deadline) -> Batch | None:
        """The rows of one page. A batch without rows tells that a split has ended."""
        while not deadline.expired:
            reading = self._current() if time.monotonic() >= self._paced_s else None
            if reading is None:
                deadline.wait(self._idle_s())
                continue
            reader, sweep = reading
            try:
                page = self._page(reader, deadline)
                if page is None:
                    return None
                self._pace(page.rows)
                batch = self._rows[reader.split.table].batch(reader.split, page, sweep, is_last=reader.finished)
            except RetriableError:
                raise
            except TableGoneError as error:
                self._refused_by_a_node(reader.split.table, error)
                continue
            except ConnectError as error:
                self._leave_aside(reader.split.table, error)
                continue
            self._doubted.discard(reader.split.table)
            if reader.finished:
                self._reading = None
                self._rest(reader.split, sweep, self._interval_s)
            if batch.position is not None:
                return batch
        return None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Nothing is pruned."""

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    @property
    def _interval_s(self) -> float:
        return self._config.poll_interval_ms / 1000

    def _current(self) -> tuple[SplitReader, Sweep] | None:
        if self._reading is None and self._waiting and self._waiting[0].due_s <= time.monotonic():
            work = self._waiting.popleft()
            sweep = work.sweep
            if sweep is None:
                assert work.done is not None
                sweep = self._mode.next(work.done, _now_ms())
            assert sweep is not None
            size, more = self._sizes[work.split.table], self._rows[work.split.table].more
            self._reading = SplitReader(self._database, work.split, work.progress, size, more=more), sweep
        assert self._context is not None
        self._context.gauge("splits_left", len(self._waiting) + (self._reading is not None))
        return self._reading

    def _page(self, reader: SplitReader, deadline: Deadline) -> Page | None:
        """The next page; None: not yet, which the status tells once it takes long."""
        began_s = time.monotonic()
        page = reader.next(deadline)
        was_late = self._late_since_s is not None
        self._late_since_s = None if page is not None else (self._late_since_s or began_s)
        if was_late or page is None:
            self._explain()
        return page

    def _rest(self, split: Split, done: Sweep, pause_s: float) -> None:
        """Read a split again later, where it is to be read again."""
        if self._mode.next(done, _now_ms()) is not None:
            self._waiting.append(_Work(split, Progress(split.after), time.monotonic() + pause_s, done=done))

    def _pace(self, rows: int) -> None:
        if self._config.max_rows_per_second:
            self._paced_s = max(self._paced_s, time.monotonic()) + rows / self._config.max_rows_per_second

    def _idle_s(self) -> float:
        paced_s = self._paced_s - time.monotonic()
        if paced_s > 0:
            return min(IDLE_S, paced_s)
        return min(IDLE_S, max(0.0, self._waiting[0].due_s - time.monotonic())) if self._waiting else IDLE_S

    def _refused_by_a_node(self, table: Table, error: TableGoneError) -> None:
        """Leave a table aside once all nodes refuse it: one that was down may not have heard of the table yet.

        RetriableError: the nodes do not agree for now.
        """
        if table in self._doubted:
            self._leave_aside(table, error)
        elif self._database.nodes_agree():
            # What was refused before they agreed is asked for once more.
            self._doubted.add(table)
        else:
            raise RetriableError(f"The nodes do not agree on the tables there are: {error}") from error

    def _leave_aside(self, table: Table, error: ConnectError) -> None:
        """A table that is gone, or may not be read, does not keep the others from being read."""
        log.error("Table %s is left aside from here on: %s", table.title, error)
        self._aside[table.title] = str(error)
        self._reading = self._late_since_s = None
        self._explain()
        self._waiting = deque(work for work in self._waiting if work.split.table != table)

    def _explain(self) -> None:
        assert self._context is not None
        said = [f"table {name} is left aside: {why}" for name, why in sorted(self._aside.items())]
        late_s = time.monotonic() - self._late_since_s if self._late_since_s is not None else 0.0
        if late_s > LATE_S and self._reading is not None:
            title = self._reading[0].split.table.title
            said.insert(0, f"a page of table {title} takes more than {LATE_S:g} s: see whether all nodes are up")
        self._context.explain(" ".join("; ".join(said).split()) or None)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
