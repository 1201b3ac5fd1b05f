"""Holds the client, threads and writers of an open task, and closes them in the right order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from connect.api.connector import SinkContext
from connect.api.optional.topic_ids import TopicIds
from connect.lib.deadline import Deadline
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.dedup.side_tables import log_table
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.spending.connector_spending import ConnectorSpending
from connectors.bigquery.spending.load_pace import LoadPace
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.first_records import FirstRecords
from connectors.bigquery.write.tables_ready import TargetTables

_CLOSE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class OpenSink:
    """Holds what a task uses from its `open` to its `close`."""

    ctx: SinkContext
    warehouse: Warehouse
    writer: TableWriter
    targets: TargetTables
    first_records: FirstRecords
    topic_ids: TopicIds
    executor: ThreadPoolExecutor
    spending: ConnectorSpending
    pace: LoadPace
    has_ledger: bool
    """True if the bytes that jobs are billed for are counted in a table of the dataset."""

    def write(self, batch: SealedBatch) -> Refusals:
        """Write a batch once the quotas of load jobs allow it, see `TableWriter.write`."""
        self.pace.require(batch.target, log_table(batch.target))
        return self.writer.write(batch)

    @property
    def collects(self) -> bool:
        """Return True if `collect` has something to do."""
        return self.writer.collects or self.targets.views.are_there or self.targets.modes.are_priced

    def collect(self) -> None:
        """Merge the rows that other tasks staged, compact logs, and look at the views and at what merges cost now."""
        try:
            if self.writer.collects:
                self.writer.collect()
        finally:
            self.targets.views.look()
            self.targets.modes.look()

    def close(self) -> None:
        """End the threads, then close what they use. A job that still runs in BigQuery goes on, which does no harm."""
        self.writer.stop()
        self.warehouse.stop()
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.first_records.close()
        self.writer.close()
        if self.has_ledger:
            with self.warehouse.within(Deadline.after(_CLOSE_S)):
                self.spending.save()
        self.warehouse.close()
