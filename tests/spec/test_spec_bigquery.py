"""The BigQuery sink keeps the contract of sinks, on an emulated BigQuery; tables are read back by Google's client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import ClassVar

import pytest
from bigquery_cleanup import drop_dataset
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from connect.testing.drivers import ROW_SCHEMA, Row
from connect.testing.sink import SinkSuite
from connect.tools.services import BigQueryEndpoint, BigQueryService
from connectors.bigquery.plugin import SINK

pytestmark = pytest.mark.integration


class BigQueryDriver:
    """A dataset per reset, with a table whose column does not hold every value of its field."""

    topic = "orders"
    rows_per_claim = 1

    def __init__(self, endpoint: BigQueryEndpoint, name: str) -> None:
        self.endpoint, self.name = endpoint, name
        self.numbers = count()
        self.dataset = ""
        self.client = bigquery.Client(
            project=endpoint.project,
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": endpoint.url},
        )

    def config(self) -> Mapping[str, str]:
        return {
            "project": self.endpoint.project,
            "defaultDataset": self.dataset,
            "bigquery.endpoint": self.endpoint.url,
            "bigquery.insecure": "true",
            "allowNewBigQueryFields": "true",
            "dedup.fields": "id",
            "dedup.merge.interval.ms": "0",
        }

    def reset(self) -> None:
        self.drop()
        self.dataset = f"{self.name}_{next(self.numbers)}"
        self.client.create_dataset(self.dataset, timeout=30)
        tie = bigquery.SchemaField("tie", "NUMERIC", precision=9, scale=0)
        schema = [bigquery.SchemaField("id", "INT64"), tie]
        self.client.create_table(
            bigquery.Table(f"{self.endpoint.project}.{self.dataset}.{self.topic}", schema=schema), timeout=30
        )

    def drop(self) -> None:
        if self.dataset:
            drop_dataset(self.client, self.dataset)

    def read_back(self) -> Sequence[Row]:
        found = self.client.query(f"SELECT * FROM `{self.dataset}`.`{self.topic}`").result()
        rows = ({name: value for name, value in row.items() if name in ROW_SCHEMA.field_index} for row in found)
        return [{**row, "tie": None if row["tie"] is None else int(row["tie"])} for row in rows]

    def bad_row(self, row: Row) -> Row:
        return {**row, "tie": 10**9}


class TestBigQuerySink(SinkSuite):
    plugin = SINK
    patience_s = 60.0
    waivers: ClassVar[Mapping[str, str]] = {
        "test_key_names_are_lower_case_and_dotted": "the Java connector's keys are in camel case"
    }

    # Each takes a hundred merges, of a second each in the emulator.

    @pytest.mark.chaos
    def test_a_crash_at_any_step_loses_no_row(self, system: BigQueryDriver) -> None:
        super().test_a_crash_at_any_step_loses_no_row(system)

    @pytest.mark.chaos
    def test_replayed_rows_land_once(self, system: BigQueryDriver) -> None:
        super().test_replayed_rows_land_once(system)

    @pytest.fixture
    def driver(self, bigquery_service: BigQueryService, unique: str) -> Iterator[BigQueryDriver]:
        driver = BigQueryDriver(bigquery_service.endpoint, unique)
        yield driver
        driver.drop()
        driver.client.close()
