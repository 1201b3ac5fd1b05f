"""Chooses whether the pages of each table become rows or events."""

from __future__ import annotations

import time
from collections.abc import Sequence

from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.rows import PageRows, TableRows
from connectors.cassandra.source.snapshot_events import SnapshotEvents
from connectors.cassandra.source.write_times import WriteTimes
from connectors.cassandra.source.written_since import WrittenSince


def page_rows(tables: Sequence[Table], config: CassandraSourceConfig, database: Queries) -> dict[Table, PageRows]:
    """Return the maker of batches for each table.

    ConfigError: a named column is missing. RetriableError: no node answers.
    """
    since_us = config.written_since_us
    if config.output == "rows" and since_us is None and not config.write_times:
        return {table: TableRows(table, config) for table in tables}
    # The fence is a time: everything written from here on is in the commit log, whatever is read. It lies before now,
    # so that a later change has the newer time even if its node's clock is behind ours.
    fence_us = time.time_ns() // 1000 - config.settle_time_ms * 1000
    ((cluster, datacenter, release),) = database.rows(
        "SELECT cluster_name, data_center, release_version FROM system.local", doing="asking for the cluster's name"
    )
    element_times = int(release.partition(".")[0]) >= 5
    if config.output == "rows":
        return {
            table: TableRows(
                table, config,
                None if since_us is None else WrittenSince(table, since_us, element_times=element_times),
                WriteTimes(table, config.columns_of(table), fence_us, element_times=element_times)
                if config.write_times else None,
            )
            for table in tables
        }  # fmt: skip
    node = Node(cluster, datacenter, "")
    return {
        table: SnapshotEvents(
            table, config.topic_of(table), node,
            element_times=element_times, fence_us=fence_us, now_s=lambda: int(time.time()), since_us=since_us,
        )
        for table in tables
    }  # fmt: skip
