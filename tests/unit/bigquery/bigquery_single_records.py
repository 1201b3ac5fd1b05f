"""Writes single records by the whole sink before the plain model of the service, a merge for each."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest
from google.cloud import bigquery
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

PLACE: Final = TopicPartition("orders", 0)
Record = tuple[Any, dict[str, Any] | None]
"""The key and the value of a record."""


def service_of(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    """Return a service that all sinks find from now on."""
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    monkeypatch.setattr(jobs, "_LAST_LOOK_S", 0.002)
    service = PlainBigQuery(Random(1))
    client = PlainClient(service)
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(client, PROJECT, DATASET, timeout_s=10))
    return service


def make(service: PlainBigQuery, **columns: str) -> None:
    """Make the table as a person does, with these columns of these types."""
    fields = [bigquery.SchemaField(*column) for column in columns.items()]
    PlainClient(service).create_table(bigquery.Table(f"{PROJECT}.{DATASET}.orders", fields))


def write(records: list[Record], **others: str) -> None:
    """Write records, each by a merge of its own, by one life of a task."""
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "dedup.merge.interval.ms": "0",
        "timePartitioningType": "NONE", **others,
    }  # fmt: skip
    task = sink.BigQuerySinkTask(BigQuerySinkConfig.parse(given))
    task.open(FakeSinkContext())
    for offset, (key, value) in enumerate(records):
        offsets = pa.array([offset], pa.int64())
        batch = Batch(
            "orders", Column.from_rows([value], None), partition=0, timestamps_ms=pa.array([offset], pa.int64()),
            keys=Column.from_rows([key], None), consumed=Consumed(PLACE, offsets, offset + 1),
        )  # fmt: skip
        task.put(batch, Deadline.after(5))
        deadline, durable = Deadline.after(60), {PLACE: offset}
        while durable != {PLACE: offset + 1}:
            assert not deadline.expired
            with suppress(RetriableError):  # two compactions meet
                durable = dict(task.flush(deadline))
            deadline.wait(0.01)
    task.close()
