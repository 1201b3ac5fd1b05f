"""Staged batches into tables: load jobs, merges, and which task merges what. Runs on threads beside the task's.

One task merges a table, as each merge searches it; the others stage, and wait for the mark that says their batch is
merged. Should two tasks merge all the same, as one is a zombie, their merges stand in line (`merge_line.py`), and the
guard of the MERGE keeps the table right.
"""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.dedup import Deletes, Keep
from connectors.bigquery.errors import RefusedJobError
from connectors.bigquery.halving import land_by_halves
from connectors.bigquery.job_facts import Changed
from connectors.bigquery.merge_line import MergeLine
from connectors.bigquery.merge_sql import Bound, Merge
from connectors.bigquery.sealed import Refusals, SealedBatch
from connectors.bigquery.staging import (
    CONNECTOR_LABEL,
    EXPIRES_AFTER_S,
    STATE_LABEL,
    TASK_LABEL,
    StagedFacts,
    batch_id,
    connector_label,
    parquet_of,
    staging_columns,
    staging_name,
    target_of,
)
from connectors.bigquery.table_facts import NewTable
from connectors.bigquery.table_schema import Columns, by_name
from connectors.bigquery.tables import deletes_table
from connectors.bigquery.warehouse import Warehouse

_log = logging.getLogger(__name__)
_STAGED: Final = {STATE_LABEL: "staged"}
_MERGED: Final = {STATE_LABEL: "merged"}
_REFUSED: Final = {STATE_LABEL: "refused"}
_LOOK_S: Final = 1.0
_DAY_S: Final = 86_400
_USD_PER_TIB: Final = 6.25
"""A price of on-demand queries, to show an order of magnitude. The log names it, as regions and contracts differ."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A staging table with its rows."""

    name: str
    facts: StagedFacts


@dataclass(frozen=True, slots=True)
class Role:
    """The part of a task among those of its connector. `suffix` ends the names of its staging tables."""

    connector: str
    task: int
    tasks: int
    suffix: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the staging tables of the connector."""
        return {CONNECTOR_LABEL: connector_label(self.connector)}

    def merges(self, target: str) -> bool:
        """Whether this task is the one that merges the table."""
        return zlib.crc32(target.encode()) % self.tasks == self.task


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
        window_column: str | None,
        interval_s: float,
        report: Callable[[Mapping[str, int]], None],
        in_any_order: bool = False,
    ) -> None:
        """`report`: hears the figures of each merge, on any thread. `in_any_order`: an earlier record may be merged
        after a later one, as from chunks of a backfill."""
        self._warehouse = warehouse
        self._role = role
        self._keep = keep
        self._deletes = deletes
        self._remembers_deletes = remembers_deletes
        self._window_column = window_column
        self._interval_s = interval_s
        self._estimated: set[str] = set()
        self._report = report
        self._in_any_order = in_any_order
        self._line = MergeLine(warehouse)
        self._stop = threading.Event()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def stop(self) -> None:
        """End every wait for the merge of another task."""
        self._stop.set()

    def close(self) -> None:
        """Do nothing: it opened nothing."""

    def sweep(self) -> None:
        """Drop what an earlier life of this task staged: its rows were not committed, and come again."""
        for name, labels in self._warehouse.labelled({**self._role.labels, TASK_LABEL: str(self._role.task)}):
            if target_of(name, self._role.suffix) is not None and labels:
                self._warehouse.drop(name)

    def land(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those refused. RetriableError: they may be, and the same call
        is made again."""
        return land_by_halves(batch, self._land)

    def _land(self, batch: SealedBatch) -> None:
        """Return once all rows are in the table. RefusedJobError: none is."""
        staged = self._stage(batch)
        if self._role.tasks == 1:
            with self._locks[batch.target], self._dropped_if_refused(staged.name):
                self._merge(batch.target, [staged], batch.columns)
        else:
            self._warehouse.label(staged.name, _STAGED)
            if self._role.merges(batch.target):
                self._collect_table(batch.target)
            self._wait_for_merge(staged.name)
        self._warehouse.drop(staged.name)

    def collect(self) -> None:
        """Merge what other tasks have staged for the tables that this task merges."""
        found = self._warehouse.labelled({**self._role.labels, **_STAGED})
        targets = {target_of(name, self._role.suffix) for name, _ in found}
        for target in sorted(target for target in targets if target is not None):
            if self._role.merges(target):
                self._collect_table(target)

    def _stage(self, batch: SealedBatch) -> Staged:
        content = parquet_of(batch.tables)
        batch_name = batch_id(self._role.connector, batch.target, batch.ranges, memoryview(content))
        name = staging_name(batch.target, self._role.suffix, batch_name)
        present = {name for table in batch.tables for name in table.column_names}
        facts = StagedFacts(
            target=batch.target,
            keys=tuple(placed.column for placed in batch.dedup.keys),
            order=tuple(placed.column for placed in batch.dedup.order),
            columns=tuple(column.name for column in batch.columns if column.name in present),
            rows=len(batch),
            deletes=batch.deletes,
            appends=batch.appends,
            bound=batch.bound,
        )
        known = by_name(batch.columns)
        columns = staging_columns(tuple(known[name.lower()] for name in facts.columns))
        is_new = self._warehouse.create(
            NewTable(
                name,
                columns,
                labels={**self._role.labels, TASK_LABEL: str(self._role.task)},
                description=facts.text(),
                expires_after_s=EXPIRES_AFTER_S,
            )
        )
        with self._dropped_if_refused(name):
            self._warehouse.fill(name, columns, content, f"kafka-connect-stage-{batch_name}", is_new=is_new)
        return Staged(name, facts)

    @contextmanager
    def _dropped_if_refused(self, name: str) -> Iterator[None]:
        try:
            yield
        except RefusedJobError:
            self._warehouse.drop(name)
            raise

    def _collect_table(self, target: str) -> None:
        with self._locks[target]:
            groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[Staged]] = defaultdict(list)
            for name, _ in self._warehouse.labelled({**self._role.labels, **_STAGED}):
                if target_of(name, self._role.suffix) == target and (staged := self._look(name)) is not None:
                    groups[staged.facts.keys, staged.facts.columns].append(staged)
            table = self._warehouse.table(target)
            if table is None:
                raise RetriableError(f"Table {target} is gone; it is made again with the next record.")
            for staged_tables in groups.values():
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
            self._warehouse.label(staged[0].name, _REFUSED, description=str(error))
            return
        for one in staged:
            self._warehouse.label(one.name, _MERGED)

    def _look(self, name: str) -> Staged | None:
        """A staging table that another task filled; None when it was dropped meanwhile."""
        found = self._warehouse.table(name)
        return None if found is None else Staged(name, StagedFacts.parse(found.description))

    def _wait_for_merge(self, name: str) -> None:
        while True:
            found = self._warehouse.table(name)
            if found is None:
                raise RetriableError(f"Staging table {name} was dropped by somebody else before it was merged.")
            if _MERGED.items() <= found.labels.items():
                return
            if _REFUSED.items() <= found.labels.items():
                self._warehouse.drop(name)
                raise RefusedJobError(found.description)
            if self._stop.wait(_LOOK_S):
                raise RetriableError(f"Staging table {name} was not merged yet when the task was stopped.")

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
        )
        if remembers and any(one.facts.deletes for one in staged):
            self._line.run(target, merge.remember_deletes("CURRENT_TIMESTAMP()"), f"remembering deletes of {target}")
        if not self._in_any_order:
            self._estimate(target, merge.text())
        changed = self._line.run(target, merge.text(), f"merging into table {target}")
        if any(one.facts.appends for one in staged):
            appended = self._line.run(target, merge.append(), f"adding rows of their own to table {target}")
            changed = replace(changed, inserted=changed.inserted + appended.inserted)
        self._tell(target, sum(one.facts.rows for one in staged), changed, time.monotonic() - started_s)

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
        """The widest of the bounds. Their texts have one form, and sort as the moments do."""
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
