"""Opens the table writer that a configuration's mode asks for: it merges rows, sends changes, or adds rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connectors.bigquery.dedup.rules import DedupRules
from connectors.bigquery.merge.compaction import CompactionRules
from connectors.bigquery.merge.log_writer import Compacting
from connectors.bigquery.merge.merge_writer import Merging
from connectors.bigquery.merge.merger import MergeRules
from connectors.bigquery.merge.staging_tables import Role, StagingTables
from connectors.bigquery.merge.writers_by_table import WritersByTable
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.spending import UNBOUNDED, Spending
from connectors.bigquery.warehouse.client import open_storage
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import Appending, DefaultStream, InsertAll, LoadJobs, Writer
from connectors.bigquery.write.cdc_upserts import Capture
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
    """Return the table writer of a configuration. `report` is called with the figures of each batch, on any thread.

    `spending` limits what its merges may cost. `MergeRules` explains `in_any_order`.
    """
    return config.mode.table_writer(TaskWriters(config, warehouse, role, report, spending, in_any_order))


@dataclass(frozen=True, slots=True)
class TaskWriters:
    """Opens the table writers of one task or backfill, see `WriterFactory`."""

    config: BigQuerySinkConfig
    warehouse: Warehouse
    role: Role
    report: Callable[[Mapping[str, int]], None]
    spending: Spending
    in_any_order: bool

    def merging(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> Merging:
        """Return a writer that stages batches and merges them by these rules."""
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
        """Return a writer that appends batches to logs, and merges the logs by these rules."""
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
        """Return a writer that hands each table's batches to the writer of the table's own mode."""
        return WritersByTable(self.warehouse, writers)

    def adding(self, *, follows_merges: bool = False) -> Appending:
        """Return a writer that adds rows, by load jobs for the topics of enableBatchLoad; see `WriterFactory`."""
        loads = LoadJobs(self.warehouse, self.role.connector)
        loaded = {self.config.table_names.table(topic) for topic in self.config.batch_load}
        writer = loads if self.config.batch_mode else self._row_writer()
        left_behind = StagingTables(self.warehouse, self.role) if follows_merges else None
        return self._appending(writer, dict.fromkeys(loaded, loads), left_behind)

    def capturing(self) -> Appending:
        """Return a writer that sends changes, which BigQuery applies to its tables."""
        return self._appending(Capture(open_storage(self.config)), {})

    def _appending(
        self, writer: Writer, others: Mapping[str, Writer], left_behind: StagingTables | None = None
    ) -> Appending:
        """Return a table writer that adds rows by these writers."""
        return Appending(writer, others, self.report, at_once=self.config.threads, left_behind=left_behind)

    def _row_writer(self) -> Writer:
        """Return the writer that adds rows as soon as they come, by the API that the settings choose."""
        if self.config.exactly_once:
            return CommittedStreams(self.warehouse, open_storage(self.config))
        return DefaultStream(open_storage(self.config)) if self.config.use_storage_api else InsertAll(self.warehouse)
