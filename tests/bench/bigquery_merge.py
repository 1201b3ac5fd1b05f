"""Measures the merge path of the BigQuery sink into the emulated service: rows a second, and the worker's CPU for them.

Rows are Arrow columns, as converters give them; what is timed is the sink: admission, Parquet, load job, MERGE. Figures
of CPU are the sink's own process; the service has the other cores. Beside it a merge of staged keys into a large table.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from rich.table import Table

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import BigQueryService
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

ROWS, BATCH, STAGED, STORED = 1_000_000, 500, 100_000, 1_000_000
PLACE = TopicPartition("orders", 0)
SCHEMA = s.struct({"id": s.INT64, "text": s.STRING, "price": s.FLOAT64, "open": s.BOOLEAN})
LIMIT_S = 120.0


def measure_merges() -> list[dict[str, Any]]:
    """An entry for a stream of rows about a tenth as many ids, one for keys merged into a table that is there, one for
    rows appended to a log, and one for the compaction of that log."""
    with BigQueryService() as service:
        endpoint = service.endpoint
        client = bigquery.Client(
            project=endpoint.project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint.url}
        )
        dataset = f"bench_{secrets.token_hex(3)}"
        client.create_dataset(dataset, timeout=30)
        settings = {
            "project": endpoint.project, "defaultDataset": dataset, "bigquery.endpoint": endpoint.url,
            "bigquery.insecure": "true", "timePartitioningType": "NONE", "dedup.fields": "id",
            "dedup.merge.interval.ms": "30000", "dedup.merge.max.records": "250000",
            "buffer.max.bytes": str(512 * 2**20),
        }  # fmt: skip
        entries = [_stream("rows of a tenth as many ids", settings, ROWS, ROWS // 10)]
        _fill(client, dataset, STORED)
        large = {**settings, "topic2TableMap": "orders:large", "dedup.merge.max.records": str(STAGED)}
        entries.append(_stream("keys into 1,000,000 rows", large, STAGED, STAGED))
        # The rows of a tenth of the ids come twice.
        # One batch of all: its log is due as soon as the task looks, which it does once in an interval.
        whole = {"dedup.merge.interval.ms": "3600000", "dedup.merge.max.records": str(ROWS), "dedup.mode": "compact"}
        log, ids = {**settings, **whole, "topic2TableMap": "orders:logged"}, ROWS * 9 // 10
        entries.append(_stream("rows appended to a log", log, ROWS, ids))
        soon = {"dedup.merge.interval.ms": "1000", "dedup.compact.interval.ms": "0"}
        entries.append(_compact("the log into its table", {**log, **soon}, ids))
        counts = f"SELECT COUNT(*) AS found, COUNT(DISTINCT id) AS ids FROM `{dataset}`.logged"
        row = next(iter(client.query(counts).result()))
        if {row["found"], row["ids"]} != {ids}:
            raise RuntimeError(f"Of {ids} ids the table has {row['ids']}, in {row['found']} rows.")
        client.close()
    return entries


def merges_table(entries: list[dict[str, Any]]) -> Table:
    table = Table("what", "rows", "s", "rows/s", "cpu s per M rows", "merges", title="The merge path of BigQuery")
    for entry in entries:
        table.add_row(
            *(str(entry[name]) for name in ("name", "rows", "seconds", "rows_per_s", "cpu_s_per_m", "merges"))
        )
    return table


def _stream(name: str, settings: Mapping[str, str], rows: int, ids: int) -> dict[str, Any]:
    batches = list(_batches(rows, ids))
    connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings))
    task, context = connector.task(connector.task_configs(1)[0]), FakeSinkContext()
    task.open(context)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    try:
        for batch in batches:
            task.put(batch, Deadline.after(LIMIT_S))
        limit = Deadline.after(LIMIT_S)
        while task.flush(Deadline.after(5.0)).get(PLACE) != rows:
            if not limit.wait(0.1):
                raise RuntimeError(f"{rows} rows were not in BigQuery within {LIMIT_S} s.")
        took_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
        task.flush(Deadline.after(5.0))
    finally:
        task.close()
    return {
        "name": name, "rows": rows, "seconds": round(took_s, 1), "rows_per_s": int(rows / took_s),
        "cpu_s_per_m": round(cpu_s / rows * 1e6, 2), "merges": int(context.gauges.get("merges_total", 0)),
    }  # fmt: skip


def _compact(name: str, settings: Mapping[str, str], ids: int) -> dict[str, Any]:
    """A life that reads the first batch again, and compacts the log. RuntimeError: it took more than one MERGE."""
    connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings))
    task, context = connector.task(connector.task_configs(1)[0]), FakeSinkContext()
    task.open(context)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    try:
        task.put(next(_batches(ROWS, ids)), Deadline.after(LIMIT_S))
        limit = Deadline.after(LIMIT_S)
        while not context.gauges.get("compactions_total"):
            task.flush(Deadline.after(5.0))
            if not limit.wait(0.1):
                raise RuntimeError(f"The log was not merged within {LIMIT_S} s.")
        took_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    finally:
        task.close()
    if context.gauges["merges_total"] != 1:
        raise RuntimeError(f"The log took {context.gauges['merges_total']} MERGEs.")
    return {
        "name": name, "rows": ROWS, "seconds": round(took_s, 1), "rows_per_s": int(ROWS / took_s),
        "cpu_s_per_m": round(cpu_s / ROWS * 1e6, 2), "merges": 1,
    }  # fmt: skip


def _batches(rows: int, ids: int) -> Iterator[Batch]:
    for first in range(0, rows, BATCH):
        offsets = pa.array(range(first, min(first + BATCH, rows)), pa.int64())
        numbers = [offset * 7919 % ids for offset in offsets.to_pylist()]
        values = pa.StructArray.from_arrays(
            [
                pa.array(numbers, pa.int64()), pa.array([f"the text of message {n} {'x' * 60}" for n in numbers]),
                pa.array([n / 7 for n in numbers]), pa.array([n % 2 == 0 for n in numbers]),
            ],
            names=[field.name for field in SCHEMA.fields],
        )  # fmt: skip
        times = pa.array(range(1_700_000_000_000 + first, 1_700_000_000_000 + first + len(offsets)), pa.int64())
        yield Batch(
            PLACE.topic, Column.from_arrow(values, SCHEMA), timestamps_ms=times, partition=PLACE.partition,
            consumed=Consumed(PLACE, offsets, first + len(offsets)),
        )  # fmt: skip


def _fill(client: bigquery.Client, dataset: str, rows: int) -> None:
    client.query(
        f"CREATE TABLE `{dataset}`.large AS SELECT id, CAST(id AS STRING) AS text, 1.5 AS price, TRUE AS open "
        f"FROM UNNEST(GENERATE_ARRAY(0, {rows - 1})) AS id"
    ).result()
