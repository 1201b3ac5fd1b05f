"""Stages batches, has the right task merge each table, and waits for merges of other tasks. Used by several threads.

One task merges a table, as each merge searches it. The others stage their batches, and wait for the mark that says
that a batch is merged. If nobody merges a batch in time, as the merging task is dead or frozen, its own task merges it.
The merges of a table run one after the other (`merge_line.py`), and the guard of the MERGE keeps the table right.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.dedup.side_tables import log_table
from connectors.bigquery.merge.compaction import Compaction
from connectors.bigquery.merge.halving import write_parts
from connectors.bigquery.merge.merge_line import ColumnsCameError, MergeLine
from connectors.bigquery.merge.merger import Merger, MergeRules
from connectors.bigquery.merge.several_tables import for_each_table
from connectors.bigquery.merge.staging import DESCRIPTION_CHARS, StagedFacts
from connectors.bigquery.merge.staging_tables import Role, Staged, StagingTables, State
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema, ColumnType, by_name
from connectors.bigquery.spending.spending import UNBOUNDED, Spending
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.warehouse import Warehouse

_LOOK_S: Final = 1.0
_PATIENCE_S: Final = 15.0
"""The merging task may take so much longer than its interval to begin with a batch of another task."""
_WAITING_MOST: Final = 1000
_LOG_LOOK_S: Final = 300.0
"""A log that was merged is looked at again after so many seconds, with the next batch of its table."""


class Merging:
    """Stages and merges batches. Its methods block; several threads call them, each for another table."""

    def __init__(
        self,
        warehouse: Warehouse,
        role: Role,
        *,
        rules: MergeRules,
        report: Callable[[Mapping[str, int]], None],
        at_once: int,
        spending: Spending = UNBOUNDED,
    ) -> None:
        """Take the settings of merges, and open nothing.

        `report` is called with the figures of each merge, on any thread. At most `at_once` tables are staged or merged
        at a time.
        """
        self._warehouse = warehouse
        self._role = role
        self._staging = StagingTables(warehouse, role)
        self._interval_s = rules.interval_s
        self._at_once = at_once
        self._line = MergeLine(warehouse, spending=spending)
        self._merger = Merger(warehouse, self._line, rules, report)
        self._compaction = Compaction(warehouse, self._line, self._merger)
        self._log_looked_s: dict[str, float] = {}
        self._came: dict[str, Columns] = {}
        """Holds the columns of tables that others have widened since this task looked at them."""
        self._stop = threading.Event()
        # A thread that waits for another task does not hold this: two tasks could wait for each other for ever.
        self._working = threading.BoundedSemaphore(at_once)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._waiting: dict[str, str] = {}

    @property
    def threads(self) -> int:
        """Return how many threads may call `write`. Those that wait for other tasks do not block the others."""
        return self._at_once if self._role.tasks == 1 else _WAITING_MOST

    def stop(self) -> None:
        """End every wait for the merge of another task."""
        self._stop.set()

    def close(self) -> None:
        """Do nothing, as it has opened nothing."""

    def sweep(self) -> None:
        """Drop the staging tables that an earlier run of this task left. Their rows come again."""
        self._staging.sweep()

    def doing(self, target: str) -> str:
        """Return in words what happens to a batch of this table that is being written."""
        return self._waiting.get(target, "it is staged and merged")

    def write(self, batch: SealedBatch) -> Refusals:
        """Write a batch, and return the refused rows once all others are in the table.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """
        self._line.require_budget(batch.target)  # a batch that waits for the budget is not staged again and again
        try:
            self._write(batch)
        except RefusedJobError as error:
            grown = self._with_members_now(batch)
            if grown is not batch:
                return self.write(grown)
            # This task merges the parts itself, as each part would wait for the next look of another merging task.
            return write_parts(batch, self._write_alone, error)
        return {}

    def _with_members_now(self, batch: SealedBatch) -> SealedBatch:
        """Return the batch with the members that RECORD columns of its table have got since it was sealed, as BigQuery
        needs rows that have all of them. Return the batch itself if there are none.
        """
        table = self._warehouse.table(batch.target)
        return batch if table is None else batch.with_members_of(table.columns)

    def _write(self, batch: SealedBatch) -> None:
        """Return once all rows are in the table. Raise RefusedJobError if BigQuery takes none of them."""
        if self._role.tasks == 1:
            self._write_alone(batch)
            return
        target = batch.target
        with self._working:
            staged = self._staging.fill(batch)
            # The text is written anew, as another task may have replaced it by a refusal of the same batch.
            self._staging.mark(staged.name, State.STAGED, staged.facts.text())
            if self._role.merges(target):
                listed = self._staging.waiting(within_s=self._interval_s / 2)
                self._collect_table(target, {staged.name, *listed.get(target, ())})
        if not self._is_merged(staged.name, target):
            self._merge_own(staged, batch)
        self._staging.drop(staged.name)

    def _write_alone(self, batch: SealedBatch) -> None:
        with self._working:
            staged = self._staging.fill(batch)
        self._merge_own(staged, batch)
        self._staging.drop(staged.name)

    def _merge_own(self, staged: Staged, batch: SealedBatch) -> None:
        with self._working, self._locks[batch.target], self._staging.dropped_if_refused(staged.name):
            # A column that a person has added since keeps its values, as long as nobody else merges.
            self._merge(batch.target, [staged], batch.columns)

    @property
    def collects(self) -> bool:
        """Return True if other tasks may have staged batches that this one merges."""
        return self._role.tasks > 1

    def collect(self) -> None:
        """Merge what other tasks have staged for the tables that this task merges, several tables at a time.

        A table that fails does not hold up the others; its error is raised at the end.
        """
        waiting = self._staging.waiting()
        targets = [target for target in sorted(waiting) if self._role.merges(target)]

        def collect(target: str) -> None:
            self._collect_table(target, waiting[target])

        for_each_table(collect, targets, self._at_once, "bigquery-collect")

    def _collect_table(self, target: str, names: Collection[str]) -> None:
        """Merge those of these staging tables that still wait for their merge."""
        with self._locks[target]:
            groups: defaultdict[tuple[object, ...], list[Staged]] = defaultdict(list)
            for name in sorted(names):
                if (staged := self._staging.staged(name)) is not None:
                    facts = staged.facts
                    groups[facts.keys, facts.keys_hash, facts.order, facts.columns, facts.clears is None].append(staged)
            if not groups:
                return
            table = self._warehouse.table(target)
            for staged_tables in groups.values():
                if table is None:
                    for one in staged_tables:
                        self._staging.mark(one.name, State.TARGET_GONE)
                else:
                    self._merge_group(target, staged_tables, table.columns)

    def _merge_group(self, target: str, staged: Sequence[Staged], columns: Columns) -> None:
        """Merge staging tables together or, if BigQuery refuses that, one by one. Mark them for their tasks."""
        try:
            self._merge(target, staged, columns)
        except RefusedJobError as error:
            if len(staged) > 1:
                for one in staged:
                    self._merge_group(target, [one], columns)
                return
            self._staging.mark(staged[0].name, State.REFUSED, str(error)[:DESCRIPTION_CHARS])
            return
        for one in staged:
            self._staging.mark(one.name, State.MERGED)

    def _is_merged(self, name: str, target: str) -> bool:
        """Wait until the merging task has merged a staging table. Return False if it does not do so in time."""
        patient_until_s = time.monotonic() + self._interval_s + _PATIENCE_S
        self._waiting[target] = f"task {self._role.merging_task(target)} of the connector merges this table"
        try:
            while not self._is_marked(name, target):
                if time.monotonic() >= patient_until_s:
                    # A merge that takes long does not mean that the merging task is dead.
                    self._line.wait_until_it_rests(target, self._pause)
                    return self._is_marked(name, target)
                self._pause(_LOOK_S)
        finally:
            self._waiting.pop(target, None)
        return True

    def _is_marked(self, name: str, target: str) -> bool:
        """Return True if a staging table is merged. Raise RefusedJobError if BigQuery refused its merge."""
        found = self._staging.look(name)
        if found is None:
            raise RetriableError(f"Staging table {name} was dropped by somebody else before it was merged.")
        match found.state:
            case State.REFUSED:
                self._staging.drop(name)
                raise RefusedJobError(found.why)
            case State.TARGET_GONE:
                self._staging.drop(name)
                raise RetriableError(f"Table {target} is gone; it is made again.")
        return found.state is State.MERGED

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise RetriableError("The task was stopped while a batch waited for its merge.")

    def _may_have_log(self, target: str) -> bool:
        """Return True if the log of a table may have rows, as those that a slow task of the mode compact loads late."""
        looked_s = self._log_looked_s.get(target)
        if looked_s is None:
            return True
        if time.monotonic() - looked_s < _LOG_LOOK_S:
            return False
        log = self._warehouse.table(log_table(target))
        if log is not None and log.rows > 0:
            return True
        self._log_looked_s[target] = time.monotonic()
        return False

    def _merge(self, target: str, staged: Sequence[Staged], columns: Columns) -> None:
        # Rows that dedup.mode=compact left in a log are merged first.
        if self._may_have_log(target):
            if self._compaction.run(staged[0].facts):
                self._log_looked_s[target] = time.monotonic()
            # Its statements may have found a number taken, and know columns that this batch does not.
            self._line.look_again(target)
        sources = sorted(self._warehouse.path(one.name) for one in staged)
        facts = [one.facts for one in staged]
        try:
            self._merger.merge(target, _with_lost(self._with_came(target, columns), facts[0]), sources, facts)
        except ColumnsCameError as error:
            # The row gets NULL in the columns of others' records, not what an older record has there.
            self._came[target] = error.columns
            self._merger.merge(target, _with_lost(error.columns, facts[0]), sources, facts)
        except RefusedJobError:
            if self._came.pop(target, None) is None:
                raise
            # One of these columns may be gone again.
            self._merger.merge(target, _with_lost(columns, facts[0]), sources, facts)

    def _with_came(self, target: str, columns: Columns) -> Columns:
        """Return the columns with those that others have added before."""
        known = by_name(columns)
        return (*columns, *(one for one in self._came.get(target, ()) if one.name.lower() not in known))


def _with_lost(columns: Columns, facts: StagedFacts) -> Columns:
    """Return the columns of a table with those of the rows that it lost: BigQuery refuses them, rather than leaves
    their values out.
    """
    known = by_name(columns)
    return (*columns, *(ColumnSchema(n, ColumnType.STRING) for n in facts.columns if n.lower() not in known))
