"""Take staged batches into tables: load jobs, merges, and which task merges what. Runs on threads beside the task's.

One task merges a table, as each merge searches it; the others stage, and wait for the mark that says their batch is
merged. A task whose batch nobody merges in time, as the other is dead or frozen, merges it itself: merges of a table
stand in line (`merge_line.py`), whoever runs them, and the guard of the MERGE keeps the table right.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.dedup.merge_sql import Bound, Merge
from connectors.bigquery.dedup.rules import Deletes, Keep
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.merge.halving import write_parts
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.merge.staging_tables import Role, Staged, StagingTables, State
from connectors.bigquery.rows.table_schema import Columns
from connectors.bigquery.tables.table_columns import cleared_table, deletes_table
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.job_facts import Changed
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_PATIENCE_S: Final = 15.0
"""How much longer than its interval the merging task may take to begin with a batch of another task."""
_WAITING_MOST: Final = 1000
_DAY_S: Final = 86_400
_USD_PER_TIB: Final = 6.25
"""A TiB of on-demand queries costs about this. The log names the price, as regions and contracts differ."""


class Merging:
    """Stages and merges batches. Its methods block, and are called by several threads, one table a thread."""

    def __init__(
        self,
        warehouse: Warehouse,
        role: Role,
        *,
        keep: Keep,
        deletes: Deletes,
        remembers_deletes: bool,
        remembers_clears: bool,
        window_column: str | None,
        interval_s: float,
        report: Callable[[Mapping[str, int]], None],
        at_once: int,
        in_any_order: bool = False,
    ) -> None:
        """Take the settings of merges, and open nothing.

        `report` is called with the figures of each merge, on any thread. at_once: the most tables that are staged or
        merged at a time. `in_any_order`: an earlier record may be merged after a later one, as from chunks of a
        backfill.
        """
        self._warehouse = warehouse
        self._role = role
        self._staging = StagingTables(warehouse, role)
        self._keep = keep
        self._deletes = deletes
        self._remembers_deletes = remembers_deletes
        self._remembers_clears = remembers_clears
        self._window_column = window_column
        self._interval_s = interval_s
        self._estimated: set[str] = set()
        self._report = report
        self._at_once = at_once
        self._in_any_order = in_any_order
        self._line = MergeLine(warehouse)
        self._stop = threading.Event()
        # Whoever waits for another task works at nothing, or two tasks could wait for each other's merges for ever.
        self._working = threading.BoundedSemaphore(at_once)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._waiting: dict[str, str] = {}

    @property
    def threads(self) -> int:
        """Return the most threads that call `write` at a time: those that wait for another task hold up none that
        work.
        """
        return self._at_once if self._role.tasks == 1 else _WAITING_MOST

    def stop(self) -> None:
        """End every wait for the merge of another task."""
        self._stop.set()

    def close(self) -> None:
        """Do nothing: it opened nothing."""

    def sweep(self) -> None:
        """Drop what an earlier life of this task staged: its rows were not committed, and come again."""
        self._staging.sweep()

    def doing(self, target: str) -> str:
        """Return what a batch of this table waits for, for people."""
        return self._waiting.get(target, "it is staged and merged")

    def write(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those refused. RetriableError: they may be, and the same call
        is made again."""
        try:
            self._write(batch)
        except RefusedJobError as error:
            grown = self._with_members_now(batch)
            if grown is not batch:
                return self.write(grown)
            # The parts are merged here, whoever merges the table: each would wait for a look of the other task.
            return write_parts(batch, self._write_alone, error)
        return {}

    def _with_members_now(self, batch: SealedBatch) -> SealedBatch:
        """Return the batch with the members that its table's records have got since it was sealed; itself where there
        are none. BigQuery takes no record for one with more members.
        """
        table = self._warehouse.table(batch.target)
        return batch if table is None else batch.with_members_of(table.columns)

    def _write(self, batch: SealedBatch) -> None:
        """Return once all rows are in the table. RefusedJobError: none is."""
        if self._role.tasks == 1:
            self._write_alone(batch)
            return
        target = batch.target
        with self._working:
            staged = self._staging.fill(batch)
            self._staging.mark(staged.name, State.STAGED)
            if self._role.merges(target):
                self._collect_table(target)
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
            self._merge(batch.target, [staged], batch.columns)

    def collect(self) -> None:
        """Merge what other tasks have staged for the tables that this task merges, several tables at a time.

        A table that fails holds up no other one; what it raised is raised in the end.
        """
        targets = [target for target in sorted(self._staging.waiting()) if self._role.merges(target)]
        if not targets:
            return
        with ThreadPoolExecutor(min(len(targets), self._at_once), "bigquery-collect") as threads:
            outcomes = [threads.submit(self._collect_table, target) for target in targets]
        for outcome in outcomes:
            outcome.result()

    def _collect_table(self, target: str) -> None:
        with self._locks[target]:
            groups: defaultdict[tuple[object, ...], list[Staged]] = defaultdict(list)
            for name in self._staging.waiting().get(target, []):
                if (staged := self._staging.staged(name)) is not None:
                    facts = staged.facts
                    groups[facts.keys, facts.order, facts.columns, facts.clears is None].append(staged)
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
        """Merge staging tables together or, where BigQuery refuses that, one by one, and tell their tasks."""
        try:
            self._merge(target, staged, columns)
        except RefusedJobError as error:
            if len(staged) > 1:
                for one in staged:
                    self._merge_group(target, [one], columns)
                return
            self._staging.mark(staged[0].name, State.REFUSED, str(error))
            return
        for one in staged:
            self._staging.mark(one.name, State.MERGED)

    def _is_merged(self, name: str, target: str) -> bool:
        """Wait until the merging task has merged a staging table; False where it does not look in time."""
        patient_until_s = time.monotonic() + self._interval_s + _PATIENCE_S
        self._waiting[target] = f"task {self._role.merging_task(target)} of the connector merges this table"
        try:
            while not self._is_marked(name, target):
                if time.monotonic() >= patient_until_s:
                    # A merge that takes long is no sign of death.
                    self._line.wait_until_it_rests(target, self._pause)
                    return self._is_marked(name, target)
                self._pause(_LOOK_S)
        finally:
            self._waiting.pop(target, None)
        return True

    def _is_marked(self, name: str, target: str) -> bool:
        """Tell if a staging table is merged. RefusedJobError: BigQuery refused its merge."""
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

    def _merge(self, target: str, staged: Sequence[Staged], columns: Columns) -> None:
        started_s = time.monotonic()
        facts = staged[0].facts
        remembers = self._remembers_deletes
        merge = Merge(
            target=self._warehouse.path(target),
            staged=tuple(sorted(self._warehouse.path(one.name) for one in staged)),
            columns=tuple(column.name for column in columns),
            keys=facts.keys,
            order=facts.order,
            present=frozenset(facts.columns),
            keep=self._keep,
            deletes=self._deletes,
            tombstones=self._warehouse.path(deletes_table(target)) if remembers else None,
            bound=self._bound(staged),
            takes_earlier=self._in_any_order,
            has_clears=facts.clears is not None,
            cleared=self._warehouse.path(cleared_table(target)) if self._remembers_clears else None,
        )
        taken_out = self._clear(target, merge) if any(one.facts.clears for one in staged) else Changed()
        if remembers and any(one.facts.deletes > (one.facts.clears or 0) for one in staged):
            self._line.run(target, merge.remember_deletes("CURRENT_TIMESTAMP()"), f"remembering deletes of {target}")
        if not self._in_any_order:
            self._estimate(target, merge.text())
        changed = self._line.run(target, merge.text(), f"merging into table {target}")
        if any(one.facts.appends for one in staged):
            appended = self._line.run(target, merge.append(), f"adding rows of their own to table {target}")
            changed = replace(changed, inserted=changed.inserted + appended.inserted)
        changed = replace(
            changed, updated=changed.updated + taken_out.updated, deleted=changed.deleted + taken_out.deleted
        )
        self._tell(target, sum(one.facts.rows for one in staged), changed, time.monotonic() - started_s)

    def _clear(self, target: str, merge: Merge) -> Changed:
        """Take out what tombstones without an order remove; what the last statement changed, which is the table's."""
        changed = Changed()
        for statement in merge.clear("CURRENT_TIMESTAMP()"):
            changed = self._line.run(target, statement, f"clearing keys of table {target}")
        return changed

    def _estimate(self, target: str, sql: str) -> None:
        """Log once what merging this table will cost."""
        if target in self._estimated:
            return
        self._estimated.add(target)
        try:
            size = self._warehouse.scanned_bytes(sql)
        except ConnectError as error:
            _log.debug("What merges into table %s will cost is not known: %s", target, error)
            return
        a_day = int(size * _DAY_S / max(1.0, self._interval_s))
        _log.info(
            "A merge into table %s reads %d bytes; one every %.0f s reads %.1f GiB a day (about %.2f USD on demand, at "
            "%.2f USD a TiB).",
            target, size, max(1.0, self._interval_s), a_day / 2**30, a_day / 2**40 * _USD_PER_TIB, _USD_PER_TIB,
        )  # fmt: skip

    def _bound(self, staged: Sequence[Staged]) -> Bound | None:
        """Return the widest of the bounds. Their texts have one form, and sort as the moments do."""
        bounds = [one.facts.bound for one in staged]
        if self._window_column is None or any(bound is None for bound in bounds):
            return None
        return Bound(self._window_column, min(bound for bound in bounds if bound is not None))

    def _tell(self, target: str, rows: int, changed: Changed, took_s: float) -> None:
        dropped = rows - changed.inserted - changed.updated - changed.deleted
        _log.info(
            "Merged into table %s in %.1f s: %d rows staged, %d inserted, %d updated, %d deleted, %d dropped as "
            "duplicate or older; %d bytes billed.",
            target, took_s, rows, changed.inserted, changed.updated, changed.deleted, dropped, changed.billed_bytes,
        )  # fmt: skip
        self._report(
            Counter(
                merges_total=1, merged_rows_staged_total=rows, merged_rows_inserted_total=changed.inserted,
                merged_rows_updated_total=changed.updated, merged_rows_deleted_total=changed.deleted,
                merged_rows_dropped_total=dropped, merged_bytes_billed_total=changed.billed_bytes,
            )
        )  # fmt: skip
