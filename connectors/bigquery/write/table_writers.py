"""Opens the writer into tables that a configuration's mode chooses: merging, capturing, or adding rows as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connectors.bigquery.dedup.rules import DedupRules
from connectors.bigquery.merge.compacting import Compacting
from connectors.bigquery.merge.compaction import CompactionRules
from connectors.bigquery.merge.merger import MergeRules
from connectors.bigquery.merge.merging import Merging
from connectors.bigquery.merge.staging_tables import Role, StagingTables
from connectors.bigquery.merge.writers_by_table import WritersByTable
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.spending import UNBOUNDED, Spending
from connectors.bigquery.tables.capturing import Capture
from connectors.bigquery.warehouse.client import open_storage
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import Appending, DefaultStream, InsertAll, LoadJobs, Writer
from connectors.bigquery.write.exactly_once import CommittedStreams


def table_writer_of(
    config: BigQuerySinkConfig,
    warehouse: Warehouse,
    role: Role,
    report: Callable[[Mapping[str, int]], None],
    *,
    spending: Spending = UNBOUNDED,
    in_any_order: bool = False,
) -> TableWriter:
    """Return the table writer of a configuration. `report` hears the figures of each batch, on any thread.

    `spending` bounds its merges. `in_any_order`: see `MergeRules`.
    """
    return config.mode.table_writer(TaskWriters(config, warehouse, role, report, spending, in_any_order))


@dataclass(frozen=True, slots=True)
class TaskWriters:
    """Opens the writers for one task or backfill, see `WriterFactory`."""

    config: BigQuerySinkConfig
    warehouse: Warehouse
    role: Role
    report: Callable[[Mapping[str, int]], None]
    spending: Spending
    in_any_order: bool

    def merging(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> Merging:
        """Return what stages batches and merges them by these rules."""
        merges = MergeRules(
            rules.keep, rules.deletes, remembers_deletes, remembers_clears, self.config.partition_field or None,
            interval_s=self.config.interval_ms / 1000, in_any_order=self.in_any_order,
            deletes_appended=rules.appends,
        )  # fmt: skip
        return Merging(
            self.warehouse, self.role, rules=merges, report=self.report, at_once=self.config.threads,
            spending=self.spending,
        )  # fmt: skip

    def compacting(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> Compacting:
        """Return what appends batches to logs, and merges these by the rules."""
        config = self.config
        merges = MergeRules(
            rules.keep, rules.deletes, remembers_deletes, remembers_clears, config.partition_field or None,
            interval_s=config.compact_interval_ms / 1000,
        )  # fmt: skip
        return Compacting(
            self.warehouse, self.role, merges=merges, report=self.report, at_once=config.threads,
            rules=CompactionRules(config.compact_interval_ms, config.compact_percent), spending=self.spending,
        )  # fmt: skip

    def by_table(self, writers: Mapping[str, TableWriter]) -> WritersByTable:
        """Return what writes each table by the writer of its own mode."""
        return WritersByTable(self.warehouse, writers)

    def adding(self, *, follows_merges: bool = False) -> Appending:
        """Return what adds rows; topics of enableBatchLoad go by load jobs. follows_merges: see `WriterFactory`."""
        loads = LoadJobs(self.warehouse, self.role.connector)
        loaded = {self.config.table_names.table(topic) for topic in self.config.batch_load}
        writer = loads if self.config.batch_mode else self._row_writer()
        left_behind = StagingTables(self.warehouse, self.role) if follows_merges else None
        return self._appending(writer, dict.fromkeys(loaded, loads), left_behind)

    def capturing(self) -> Appending:
        """Return what sends changes, which BigQuery applies."""
        return self._appending(Capture(open_storage(self.config)), {})

    def _appending(
        self, writer: Writer, others: Mapping[str, Writer], left_behind: StagingTables | None = None
    ) -> Appending:
        """Return what writes by these writers."""
        return Appending(writer, others, self.report, at_once=self.config.threads, left_behind=left_behind)

    def _row_writer(self) -> Writer:
        """Return what adds rows as soon as they come."""
        if self.config.exactly_once:
            return CommittedStreams(self.warehouse, open_storage(self.config))
        return DefaultStream(open_storage(self.config)) if self.config.use_storage_api else InsertAll(self.warehouse)
