"""Reads a task's splits, several of them at once, each from behind the last row that was stored."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.connector import SourceContext
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.errors import TableGoneError
from connectors.cassandra.cql.page_size import PageSize
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.splits import Split, SplitProgress, cut, progress_of, share_of
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraTaskConfig
from connectors.cassandra.source.page_rows import page_rows
from connectors.cassandra.source.rows import PageRows
from connectors.cassandra.source.split_reader import SplitReader
from connectors.cassandra.source.splits_at_once import Reading, SplitsAtOnce
from connectors.cassandra.source.stored_sweeps import StoredSweeps
from connectors.cassandra.source.sweeps import Sweep, sweep_of
from connectors.cassandra.source.table_choice import chosen_tables, require_numbered_tokens, unreadable

log = logging.getLogger(__name__)
IDLE_S: Final = 1.0
LATE_S: Final = 4.0
"""If a page takes longer, the task's status says so."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Holds a split that is to be read from a place on, once the monotonic clock is at `due_s`.

    `sweep` is the reading of the split that this is. If it is None, it is the sweep that follows `done`; its window of
    time is known only when it begins.
    """

    split: Split
    progress: SplitProgress
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
        self._readings = SplitsAtOnce(config.concurrent_reads)
        self._rows: dict[Table, PageRows] = {}
        self._sizes: dict[Table, PageSize] = {}
        self._context: SourceContext | None = None
        self._stored = StoredSweeps(time.time())
        self._paced_s = 0.0
        """Until this time of the monotonic clock no more rows are asked for."""
        self._aside: dict[str, str] = {}
        self._late: Table | None = None
        """Holds the table whose page takes long; None if none does."""
        self._doubted: set[Split] = set()
        """Holds the splits that one node refused although all nodes agree on the schema. A second refusal counts."""

    def open(self, ctx: SourceContext) -> None:
        """Connect, and find the place from which each split is read on."""
        self._context = ctx
        require_numbered_tokens(self._database)
        schemas = read_schemas(self._database)
        tables = chosen_tables(schemas, self._config)
        self._aside = dict(unreadable(schemas, self._config))
        self._explain()
        self._rows = page_rows(tables, self._config, self._database)
        for table in tables:
            self._sizes[table] = PageSize(self._config.batch_max_rows, self._config.fetch_max_bytes)
            for split in share_of(cut(table, self._config.table_splits), self._config.share, self._config.share_of):
                stored = ctx.stored_offset(split.partition)
                progress, sweep = progress_of(split, stored), sweep_of(stored)
                if progress.finished and sweep is not None:
                    self._stored.ended(split, sweep)
                    self._rest(split, sweep, 0.0 if self._config.is_incremental else self._interval_s)
                else:
                    sweep = sweep or self._mode.first(_now_ms())
                    self._waiting.append(_Work(split, progress, 0.0, sweep))
                    self._stored.begun(split, sweep, self._stored.opened_s)
        self._waiting = deque(sorted(self._waiting, key=lambda work: work.due_s))
        self._tell_lag()

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the rows of one page; None if no page came by the deadline.

        A batch without rows says that a split has ended.
        """
        while not deadline.expired:
            self._begin_splits()
            paced_s = self._paced_s - time.monotonic()
            if paced_s > 0 or not self._readings:
                deadline.wait(min(IDLE_S, paced_s) if paced_s > 0 else self._idle_s())
                continue
            reading = self._readings.ready(deadline)
            self._tell_of_late_pages()
            batch = self._batch(reading) if reading is not None else None
            if batch is not None:
                return batch
        return None

    def _batch(self, reading: Reading) -> Batch | None:
        """Return a split's next page as a batch.

        Return None if the page has not come yet, if it has no position, or if the split is given up.
        """
        reader = reading.reader
        try:
            page = reader.next(Deadline.after(0.0))
            if page is None:
                return None
            self._pace(page.rows)
            batch = self._rows[reading.table].batch(reader.split, page, reading.sweep, is_last=reader.finished)
        except RetriableError:
            raise
        except TableGoneError as error:
            self._refused_by_a_node(reading, error)
            return None
        except ConnectError as error:
            self._leave_aside(reading.table, error)
            return None
        self._doubted.discard(reader.split)
        self._stored.given(reader.split, len(batch), is_last=reader.finished)
        self._tell_lag()
        if reader.finished:
            self._readings.remove(reading)
            self._rest(reader.split, reading.sweep, self._interval_s)
        return batch if batch.position is not None else None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Note the stored positions, by which the lag is measured. No rows are deleted from the tables."""
        self._stored.stored(positions)
        self._tell_lag()

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    @property
    def _interval_s(self) -> float:
        return self._config.poll_interval_ms / 1000

    def _begin_splits(self) -> None:
        """Begin to read splits that are due, as long as fewer than `concurrent.reads` are being read."""
        while not self._readings.is_full and self._waiting and self._waiting[0].due_s <= time.monotonic():
            work = self._waiting.popleft()
            sweep = work.sweep
            if sweep is None:
                assert work.done is not None
                sweep = self._mode.next(work.done, _now_ms())
                assert sweep is not None
                self._stored.begun(work.split, sweep, time.time())
            table = work.split.table
            reader = SplitReader(
                self._database, work.split, work.progress, self._sizes[table],
                more=self._rows[table].more, ring=self._readings.ring,
            )  # fmt: skip
            self._readings.add(Reading(reader, sweep))
        assert self._context is not None
        # A split that waits for its next sweep has no row left to read, so it does not count.
        due = sum(work.due_s <= time.monotonic() for work in self._waiting)
        self._context.gauge("splits_left", due + len(self._readings))

    def _tell_lag(self) -> None:
        assert self._context is not None
        is_behind = self._stored.is_behind or bool(self._aside)
        self._context.caught_up(self._stored.caught_up_s, behind=is_behind)
        # Nobody can tell how many rows a sweep still has to read without reading them.
        self._context.gauge("source_lag_rows", None if is_behind else 0)

    def _rest(self, split: Split, done: Sweep, pause_s: float) -> None:
        """Plan the next sweep of a split, `pause_s` seconds from now, if there is one."""
        if self._mode.next(done, _now_ms()) is not None:
            self._waiting.append(_Work(split, SplitProgress(split.after), time.monotonic() + pause_s, done=done))

    def _pace(self, rows: int) -> None:
        if self._config.max_rows_per_second:
            self._paced_s = max(self._paced_s, time.monotonic()) + rows / self._config.max_rows_per_second

    def _idle_s(self) -> float:
        return min(IDLE_S, max(0.0, self._waiting[0].due_s - time.monotonic())) if self._waiting else IDLE_S

    def _refused_by_a_node(self, reading: Reading, error: TableGoneError) -> None:
        """Give up a table when all nodes refuse it; a node that was down may not know of the table yet.

        RetriableError: the nodes do not agree on the schema for now.
        """
        if reading.reader.split in self._doubted:
            self._leave_aside(reading.table, error)
        elif self._database.nodes_agree():
            # The refusal may be from before the nodes agreed, so the page is asked for once more.
            self._doubted.add(reading.reader.split)
        else:
            raise RetriableError(f"The nodes do not agree on the tables there are: {error}") from error

    def _leave_aside(self, table: Table, error: ConnectError) -> None:
        """Give up a table that is gone or may not be read, and go on with the others."""
        log.error("Table %s is left aside from here on: %s", table.title, error)
        self._aside[table.title] = str(error)
        self._readings.remove_table(table)
        self._waiting = deque(work for work in self._waiting if work.split.table != table)
        self._explain()
        self._tell_lag()

    def _tell_of_late_pages(self) -> None:
        late = self._readings.late_table(LATE_S)
        if late is not self._late:
            self._late = late
            self._explain()

    def _explain(self) -> None:
        assert self._context is not None
        said = [f"table {name} is left aside: {why}" for name, why in sorted(self._aside.items())]
        if self._late is not None:
            title = self._late.title
            said.insert(0, f"a page of table {title} takes more than {LATE_S:g} s: see whether all nodes are up")
        self._context.explain(" ".join("; ".join(said).split()) or None)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
