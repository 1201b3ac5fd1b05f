"""Chooses how a task's batches get into tables, by its settings: merged, or added as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.merge.merging import Merging
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.capturing import Capture
from connectors.bigquery.warehouse.client import open_storage
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import Appending, DefaultStream, InsertAll, LoadJobs, Writer
from connectors.bigquery.write.exactly_once import CommittedStreams


class Landing(Protocol):
    """Puts batches into tables. Its methods block, and are called by several threads, one table a thread."""

    @property
    def threads(self) -> int:
        """The most threads by which its methods may be called at a time."""

    def doing(self, target: str) -> str:
        """What becomes of a batch that is on its way into this table, for people."""

    def land(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those that it does not take. RetriableError: they may be, and
        the same call is made again."""

    def collect(self) -> None:
        """Merge what other tasks of the connector staged for tables that this task merges. Ways without a merge have
        nothing to do."""

    def sweep(self) -> None:
        """Drop the staging tables that an earlier life of the task left behind."""

    def stop(self) -> None:
        """End every wait of the threads that land batches, with a RetriableError."""

    def close(self) -> None:
        """Close what it opened, once its threads have ended. May be called twice."""


def landing_of(
    config: BigQuerySinkConfig,
    warehouse: Warehouse,
    role: Role,
    report: Callable[[Mapping[str, int]], None],
    *,
    in_any_order: bool = False,
) -> Landing:
    """The way of a configuration. `report`: hears the figures of each batch, on any thread.

    `in_any_order`: see `Merging`.
    """
    if config.merges:
        return Merging(
            warehouse,
            role,
            keep=config.dedup.keep,
            deletes=config.dedup.deletes,
            remembers_deletes=config.remembers_deletes,
            window_column=config.partition_field or None,
            interval_s=config.interval_ms / 1000,
            report=report,
            at_once=config.threads,
            in_any_order=in_any_order,
        )
    loads = LoadJobs(warehouse, role.connector)
    loaded = {config.table_names.table(topic) for topic in config.batch_load}
    return Appending(_writer_of(config, warehouse, loads), dict.fromkeys(loaded, loads), report, at_once=config.threads)


def _writer_of(config: BigQuerySinkConfig, warehouse: Warehouse, loads: LoadJobs) -> Writer:
    if config.captures:
        return Capture(open_storage(config))
    if config.batch_mode:
        return loads
    if config.exactly_once:
        return CommittedStreams(warehouse, open_storage(config))
    return DefaultStream(open_storage(config)) if config.use_storage_api else InsertAll(warehouse)
