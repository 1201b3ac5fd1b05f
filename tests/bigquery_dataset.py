"""Makes a dataset in BigQuery, reads it as any other client would, and has a connector's settings for it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from bigquery_cleanup import drop_dataset
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from connect.tools.services import BigQueryEndpoint

CLASS = "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector"


class Dataset:
    """Makes the dataset on entry and drops it on exit. Google's client reads it, never the sink's code.

    If `endpoint` is None, the dataset is in Google's own service, used with the credentials of the environment.
    """

    def __init__(self, project: str, name: str, endpoint: BigQueryEndpoint | None) -> None:
        self.project, self.name = project, name
        self.is_emulated = endpoint is not None
        if endpoint is None:
            self.client = bigquery.Client(project=project)
            self._own = {"keySource": "APPLICATION_DEFAULT"}
            return
        self.client = bigquery.Client(
            project=project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint.url}
        )
        self._own = {
            "bigquery.endpoint": endpoint.url,
            "bigquery.storage.endpoint": endpoint.storage,
            "bigquery.insecure": "true",
        }

    def __enter__(self) -> Self:
        self.client.create_dataset(self.name, timeout=30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        drop_dataset(self.client, self.name)
        self.client.close()

    def query(self, sql: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.client.query(sql).result()]

    def rows(self, table: str, order_by: str = "id") -> list[dict[str, Any]]:
        return self.query(f"SELECT * FROM `{self.name}`.`{table}` ORDER BY {order_by}")

    def tables(self) -> set[str]:
        return {table.table_id for table in self.client.list_tables(self.name)}

    def settings(self, **others: str) -> dict[str, str]:
        """Return a sink's settings. `others` has further ones, such as those of `dedup.*`, with `__` for each dot."""
        return {
            "connector.class": CLASS,
            "project": self.project,
            "defaultDataset": self.name,
            **self._own,
            "dedup.fields": "id",
            "dedup.merge.interval.ms": "500",
            **{name.replace("__", "."): value for name, value in others.items()},
        }
