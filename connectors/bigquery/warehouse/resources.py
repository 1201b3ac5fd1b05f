"""Makes what the client of BigQuery takes: columns, keys that encrypt, and tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from connectors.bigquery.rows.table_schema import Columns, with_properties
from connectors.bigquery.warehouse.table_facts import NewTable

if TYPE_CHECKING:
    from google.cloud import bigquery


def fields_of(columns: Columns, now: Sequence[Mapping[str, Any]] = ()) -> list[Any]:
    """Return columns for the client; those of `now`, as the service tells them, keep what else it knows of them."""
    from google.cloud import bigquery

    return [bigquery.SchemaField.from_api_repr(column) for column in with_properties(columns, now)]


def encryption_of(kms_key: str) -> Any:
    """Return the setting of a key that encrypts."""
    from google.cloud import bigquery

    return bigquery.EncryptionConfiguration(kms_key_name=kms_key)


def resource_of(table_id: str, table: NewTable, kms_key: str) -> bigquery.Table:
    """Return the table to create, under its full name."""
    from google.cloud import bigquery
    from google.cloud.bigquery import table as table_constraints

    found = bigquery.Table(table_id, schema=fields_of(table.columns))
    if table.partitioning is not None:
        found.time_partitioning = bigquery.TimePartitioning(
            type_=table.partitioning, field=table.partition_by, expiration_ms=table.expiration_ms
        )
    if table.cluster_by:
        found.clustering_fields = list(table.cluster_by)
    if table.labels:
        found.labels = dict(table.labels)
    if table.expires_after_s is not None:
        found.expires = datetime.now(UTC) + timedelta(seconds=table.expires_after_s)
    if table.primary_key:
        key = table_constraints.PrimaryKey(columns=list(table.primary_key))
        found.table_constraints = table_constraints.TableConstraints(primary_key=key, foreign_keys=None)
    if table.max_staleness_s is not None:
        minutes, seconds = divmod(table.max_staleness_s, 60)
        found.max_staleness = f"0-0 0 {minutes // 60}:{minutes % 60}:{seconds}"
    if kms_key:
        found.encryption_configuration = encryption_of(kms_key)
    found.description = table.description
    return found


def lengthened(table: bigquery.Table, expiration_ms: int) -> bool:
    """Let the partitions of a table expire after so many milliseconds where they do so sooner. Return True if so."""
    parts = table.time_partitioning
    if parts is None or not parts.expiration_ms or parts.expiration_ms >= expiration_ms:
        return False
    parts.expiration_ms = expiration_ms
    table.time_partitioning = parts
    return True
