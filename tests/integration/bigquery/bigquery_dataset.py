"""A dataset as any other client sees it, and a connector's settings for it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from connect.services import BigQueryEndpoint

CLASS = "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector"


class Dataset:
    """Made on entry; read by Google's client, never through the sink's code."""

    def __init__(self, endpoint: BigQueryEndpoint, name: str) -> None:
        self.endpoint, self.name = endpoint, name
        self.client = bigquery.Client(
            project=endpoint.project,
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": endpoint.url},
        )

    def __enter__(self) -> Self:
        self.client.create_dataset(self.name, timeout=30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    def query(self, sql: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.client.query(sql).result()]

    def rows(self, table: str, order_by: str = "id") -> list[dict[str, Any]]:
        return self.query(f"SELECT * FROM `{self.name}`.`{table}` ORDER BY {order_by}")

    def tables(self) -> set[str]:
        return {table.table_id for table in self.client.list_tables(self.name)}

    def settings(self, **others: str) -> dict[str, str]:
        """A sink's settings; others: `dedup.*` and the like with `__` for each dot."""
        return {
            "connector.class": CLASS,
            "project": self.endpoint.project,
            "defaultDataset": self.name,
            "bigquery.endpoint": self.endpoint.url,
            "bigquery.storage.endpoint": self.endpoint.storage,
            "bigquery.insecure": "true",
            "dedup.fields": "id",
            "dedup.merge.interval.ms": "500",
            **{name.replace("__", "."): value for name, value in others.items()},
        }
