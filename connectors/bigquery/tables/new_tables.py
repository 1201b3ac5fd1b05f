"""Describes the tables that this sink creates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConfigError
from connectors.bigquery.dedup.rules import DELETED_AT, DedupColumns
from connectors.bigquery.dedup.side_tables import LOG_BATCH, cleared_table, deletes_table, log_table
from connectors.bigquery.modes.auto import EMPTY, Choice
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.rows.table_schema import Columns, by_name
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.key_changes import key_labels
from connectors.bigquery.tables.table_columns import cleared_columns, clustering, deletes_columns, log_columns
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts

_DAY_MS: Final = 86_400_000
_LONGEST_MS: Final = 2**63 - 1
"""BigQuery takes no longer time in milliseconds."""
_MADE_FOR_DELETES: Final = {"kafka-connect-made-for": "deletes"}
"""This label marks a table that the sink created when only deletes had come."""


def made_for_deletes(table: TableFacts) -> bool:
    """Return True if a task of the sink created the table when only deletes had come, now or in an earlier run."""
    return _MADE_FOR_DELETES.items() <= table.labels.items()


def new_table(
    config: BigQuerySinkConfig, target: str, columns: Columns, dedup: DedupColumns, *, for_deletes: bool
) -> NewTable:
    """Return the table to create for records. `for_deletes` is True if only deletes have come.

    Raise ConfigError if the settings do not allow the table or do not fit its columns.
    """
    path = config.table_path(target)
    if not config.auto_create:
        raise ConfigError(
            f"Table {path} does not exist.", key="autoCreateTables", fix="Create it, or set autoCreateTables=true."
        )
    _check_named(config, path, columns)
    config.mode.check_new_table(path, columns, dedup)
    keys = (p.column for p in dedup.keys if "." not in p.column)
    return NewTable(
        target,
        columns,
        partitioning=None if config.partitioning.upper() == "NONE" else config.partitioning.upper(),
        partition_by=config.partition_field or None,
        expiration_ms=None if config.partition_expiration_ms == -1 else config.partition_expiration_ms,
        cluster_by=clustering(config.clustering, keys, columns),
        labels={
            **config.table_labels,
            **(_MADE_FOR_DELETES if for_deletes else {}),
            **_mode_label(config),
            **key_labels(config, dedup),
        },
        primary_key=config.primary_key or config.mode.primary_key(dedup),
        max_staleness_s=config.mode.max_staleness_s,
    )


def _mode_label(config: BigQuerySinkConfig) -> Mapping[str, str]:
    """Return the labels with the mode of a new table: merge, as nothing is known yet of the rows that will come."""
    return Choice(MergeMode.name, EMPTY).labels if config.mode.chooses else {}


def _check_named(config: BigQuerySinkConfig, path: str, columns: Columns) -> None:
    """Raise ConfigError where a setting names a column that the records do not have."""
    known = by_name(columns)
    names = ", ".join(column.name for column in columns)
    lacking = [name for name in config.primary_key if name.lower() not in known]
    if lacking:
        raise ConfigError(
            f"Table {path} cannot have the primary key {', '.join(config.primary_key)}: the records have no "
            f"{', '.join(lacking)}, but {names}.",
            key="table.primary.key",
            fix="Name columns of the records.",
        )
    if config.partition_field and config.partition_field.lower() not in known:
        raise ConfigError(
            f"Table {path} cannot be partitioned by {config.partition_field!r}: the records have {names}.",
            key="timestampPartitionFieldName",
            fix="Name a field that is a date or a timestamp.",
        )


def new_deletes_table(config: BigQuerySinkConfig, target: str, columns: Columns, dedup: DedupColumns) -> NewTable:
    """Return the table that remembers the hard deletes of a table with these columns."""
    names = (*(p.column for p in dedup.keys), *(p.column for p in dedup.order))
    return _memory(config, deletes_table(target), deletes_columns(columns, names))


def new_cleared_table(config: BigQuerySinkConfig, target: str, columns: Columns, dedup: DedupColumns) -> NewTable:
    """Return the table that remembers, for a table with these columns, up to which offset a key's rows are deleted."""
    return _memory(config, cleared_table(target), cleared_columns(columns, (p.column for p in dedup.keys)))


def new_log_table(config: BigQuerySinkConfig, target: str, columns: Columns) -> NewTable:
    """Return the log of a table with these columns. It is clustered by batch, as a compaction deletes whole batches."""
    return NewTable(
        log_table(target),
        log_columns(columns, clears=config.dedup.clears),
        cluster_by=(LOG_BATCH,),
        labels=config.table_labels,
    )


def _memory(config: BigQuerySinkConfig, name: str, columns: Columns) -> NewTable:
    """Return a table whose rows are kept for dedup.tombstone.retention.ms at least, at most a day longer or two days.

    BigQuery drops a whole partition, which holds a day of UTC, and counts from the beginning of that day.
    """
    return NewTable(
        name,
        columns,
        partitioning="DAY",
        partition_by=DELETED_AT,
        expiration_ms=min(max(config.tombstone_retention_ms + _DAY_MS, 2 * _DAY_MS), _LONGEST_MS),
    )
