"""Describes an existing table, and a table to create. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.bigquery.rows.table_schema import Columns


@dataclass(frozen=True, slots=True)
class TableFacts:
    """An existing table as it is now. view_query: of a view, its query in BigQuery's spelling."""

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
    """A table that is to be created.

    partition_by: a column; None with a `partitioning`: by the time of arrival. partitioning: HOUR, DAY, MONTH or YEAR;
    None: no partitions. max_staleness_s: how old what queries see may be.
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
