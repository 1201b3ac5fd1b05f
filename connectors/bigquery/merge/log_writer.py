"""Appends batches to the logs of tables by load jobs, and compacts these logs when it pays. The task's threads call it.

Each task loads its own batches and waits for no other task. A batch that comes again is loaded again, even if an
earlier run of the task loaded it, as the log may have been compacted since. The view and the MERGE take both for one.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.dedup.side_tables import LOG_BATCH, LOG_BOUND, log_table
from connectors.bigquery.merge.compaction import Compaction, CompactionRules
from connectors.bigquery.merge.halving import write_by_halves
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.merge.merger import Merger, MergeRules
from connectors.bigquery.merge.several_tables import for_each_table
from connectors.bigquery.merge.staging import StagedFacts, batch_id, digest_of, parquet_of
from connectors.bigquery.merge.staging_tables import Role, StagingTables
from connectors.bigquery.rows.table_schema import by_name
from connectors.bigquery.spending.spending import UNBOUNDED, Spending
from connectors.bigquery.tables.key_changes import require_keys
from connectors.bigquery.tables.mode_changes import require_merged
from connectors.bigquery.tables.table_columns import log_columns
from connectors.bigquery.warehouse.job_facts import Counts
from connectors.bigquery.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)


class Compacting:
    """Loads batches into logs. Its methods block; several threads call them, each for another table."""

    def __init__(
        self,
        warehouse: Warehouse,
        role: Role,
        *,
        merges: MergeRules,
        rules: CompactionRules,
        report: Callable[[Mapping[str, int]], None],
        at_once: int,
        spending: Spending = UNBOUNDED,
    ) -> None:
        """Take the settings, and open nothing.

        `report` is called with the figures of each load and merge, on any thread. At most `at_once` tables are loaded
        or merged at a time.
        """
        self._warehouse = warehouse
        self._role = role
        self._rules = rules
        self._report = report
        self._at_once = at_once
        self._owner = f"{role.connector} {role.task} {secrets.token_hex(8)}"
        line = MergeLine(warehouse, spending=spending)
        self._compaction = Compaction(warehouse, line, Merger(warehouse, line, merges, report))
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._facts: dict[str, StagedFacts] = {}
        self._rests = False

    @property
    def threads(self) -> int:
        """Return how many threads may call it: those that call `write` at a time, and one that compacts."""
        return self._at_once + 1

    @property
    def collects(self) -> bool:
        """Return True, as any task may compact."""
        return True

    def stop(self) -> None:
        """Do nothing, as `Warehouse.stop` ends the waits."""

    def close(self) -> None:
        """Do nothing, as it has opened nothing."""

    def sweep(self) -> None:
        """Drop the staging tables that an earlier run of this task left in dedup.mode=merge. Their rows come again."""
        StagingTables(self._warehouse, self._role).sweep()

    def doing(self, target: str) -> str:
        """Return in words what happens to a batch of this table that is being written."""
        return f"they are loaded into its log, {log_table(target)}"

    def write(self, batch: SealedBatch) -> Refusals:
        """Load a batch, and return the refused rows once all others are in the log.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """
        started_s = time.monotonic()
        refused = write_by_halves(batch, self._load)
        added, log = len(batch) - len(refused), log_table(batch.target)
        _log.info(
            "Loaded %d rows into table %s in %.1f s; %d refused.",
            added,
            log,
            time.monotonic() - started_s,
            len(refused),
        )
        self._report({"loads_total": 1, "loaded_rows_total": added})
        return refused

    def collect(self) -> None:
        """Compact the logs of the tables that this task has written, where it pays, several tables at a time.

        A table that fails does not hold up the others; its error is raised at the end.
        """
        tables = list(self._facts.values())
        if not tables:
            self._say_that_it_rests()
            return
        for_each_table(self._compact, tables, self._at_once, "bigquery-compact")

    def _say_that_it_rests(self) -> None:
        """Log once why a task that was started compacts nothing."""
        if not self._rests:
            self._rests = True
            _log.info(
                "No log is compacted yet: a task compacts those of tables that it has written since its start, and no "
                "row has come. What a log has is in its view, and is merged some time after the next row of its table."
            )

    def _compact(self, facts: StagedFacts) -> None:
        with self._locks[facts.target]:
            if self._compaction.run_if_due(facts, self._rules):
                self._report({"compactions_total": 1})

    def _load(self, batch: SealedBatch) -> None:
        table = self._warehouse.table(batch.target)
        if table is None:
            raise RetriableError(f"Table {batch.target} is gone; it is made again.")
        facts = StagedFacts.of(batch)
        require_keys(self._warehouse, table, facts.keys_hash)
        name = batch_id(self._owner, batch, digest_of(batch.tables))
        rows = [_marked(table, name, batch.bound) for table in batch.tables]
        known = by_name(batch.columns)
        table_columns = tuple(known[column.lower()] for column in facts.columns)
        columns = log_columns(table_columns, clears=facts.clears is not None)
        log, job_id = log_table(batch.target), f"kafka-connect-log-{name}"
        self._warehouse.append(log, columns, parquet_of(rows), job_id, Counts.LOST)
        # Rows that are in the log before the mode changes hold the change up. Rows that came later are never merged, so
        # the mode is looked up after the load.
        require_merged(self._warehouse, batch.target)
        self._facts[batch.target] = facts


def _marked(rows: pa.Table, batch: str, bound: str | None) -> pa.Table:
    """Return rows with the two columns that only a log has: the batch, and the bound of its search."""
    import pyarrow as pa

    for name, value in ((LOG_BATCH, batch), (LOG_BOUND, bound)):
        rows = rows.append_column(name, pa.repeat(pa.scalar(value, pa.string()), len(rows)))
    return rows
