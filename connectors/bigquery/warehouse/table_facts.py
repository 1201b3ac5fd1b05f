"""Describes an existing table, and a table to create. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.bigquery.rows.table_schema import Columns


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Describes an existing table as it is now. `view_query` is the query of a view in BigQuery's spelling."""

    name: str
    columns: Columns
    labels: Mapping[str, str]
    description: str
    primary_key: tuple[str, ...] = ()
    created_ms: int = 0
    rows: int = 0
    total_bytes: int = 0
    partitioning: str | None = None
    partition_by: str | None = None
    cluster_by: tuple[str, ...] = ()
    view_query: str | None = None


@dataclass(frozen=True, slots=True)
class NewTable:
    """Describes a table that is to be created.

    `partitioning` is HOUR, DAY, MONTH or YEAR; None: the table has no partitions. `partition_by` is the column of the
    partitions; None: the time at which a row arrives. Answers of queries may be `max_staleness_s` seconds old.
    """

    name: str
    columns: Columns
    partitioning: str | None = None
    partition_by: str | None = None
    expiration_ms: int | None = None
    cluster_by: Sequence[str] = ()
    labels: Mapping[str, str] | None = None
    description: str | None = None
    expires_after_s: int | None = None
    primary_key: Sequence[str] = ()
    max_staleness_s: int | None = None
