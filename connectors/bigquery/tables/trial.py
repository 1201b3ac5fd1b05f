"""Makes a dataset for a trial, beside the one that the settings name. Only Google's own client reads its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.client import open_client
from connectors.bigquery.warehouse.errors import translated

_OF_ARRIVAL: Final = "insertTime"
"""The member of kafkaDataFieldName with the time at which a row was written."""


class TrialDataset:
    """Makes, reads and removes the dataset `<dataset>_<name>`. Making it needs the right bigquery.datasets.create."""

    def __init__(self, config: BigQuerySinkConfig, name: str) -> None:
        self._config = config
        self._dataset = re.sub(r"\W", "_", f"{config.dataset}_{name}")

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the setting that names this dataset."""
        return {"defaultDataset": self._dataset}

    @property
    def is_once(self) -> bool:
        """Return True if each record is there once even when it is written again, as records are merged."""
        return self._config.mode.merges_rows

    @property
    def merges(self) -> bool:
        """Return True if records with the same dedup fields become one row."""
        return self._config.mode.merges_rows

    def make(self, deadline: Deadline) -> None:
        """Create the dataset. Raise ConfigError if the account lacks the right."""
        with self._client("creating the dataset") as client:
            client.create_dataset(self._dataset, timeout=deadline.remaining_s)

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield the rows of all tables and views, but not of tables named `_…` or whose rows a view shows."""
        with self._client("reading the dataset") as client:
            names = {table.table_id for table in client.list_tables(self._dataset, timeout=deadline.remaining_s)}
            for name in sorted(names):
                is_shown_by_view = self._config.mode.keeps_log and f"{name}{self._config.view_suffix}" in names
                if not name.startswith("_") and not is_shown_by_view:
                    sql = f"SELECT * FROM `{self._config.project}`.`{self._dataset}`.`{name}`"  # noqa: S608 - names of BigQuery
                    for row in client.query(sql, timeout=deadline.remaining_s).result():
                        yield repr((name, self._plain(dict(row)))).encode()

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the types as BigQuery tells them; those of records by the paths of their members."""
        with self._client("reading the dataset") as client:
            tables = [client.get_table(one, timeout=deadline.remaining_s) for one in self._tables(client, deadline)]
        return {
            path: kind
            for table in tables
            if not table.table_id.startswith("_")
            for path, kind in _types(table.table_id, table.schema)
        }

    def remove(self, deadline: Deadline) -> None:
        """Delete the dataset with all its tables."""
        with self._client("deleting the dataset") as client:
            for table in self._tables(client, deadline):
                client.delete_table(table, not_found_ok=True, timeout=deadline.remaining_s)
            client.delete_dataset(self._dataset, not_found_ok=True, timeout=deadline.remaining_s)

    @contextmanager
    def _client(self, doing: str) -> Iterator[Any]:
        client = open_client(self._config)
        try:
            with translated(doing, project=self._config.project, dataset=self._dataset):
                yield client
        finally:
            client.close()

    def _tables(self, client: Any, deadline: Deadline) -> list[Any]:
        from google.api_core.exceptions import NotFound

        try:
            return list(client.list_tables(self._dataset, timeout=deadline.remaining_s))
        except NotFound:
            return []

    def _plain(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row without the time at which it was written."""
        column = self._config.coordinates_column
        coordinates = row.get(column) if column else None
        if not isinstance(coordinates, Mapping):
            return row
        return {**row, column: {name: value for name, value in coordinates.items() if name != _OF_ARRIVAL}}


def _types(path: str, fields: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for field in fields:
        inner = f"{path}.{field.name}"
        if field.fields:
            yield from _types(inner, field.fields)
        else:
            yield inner, f"{field.field_type} {field.mode}".removesuffix(" NULLABLE").lower()
