"""One log with duplicates into BigQuery twice: as the Java connector writes it, and with dedup on a field.

Each message of the log comes twice, as from a producer without idempotence, and half of the log is read again, as after
a crash before the commit. The figure is what the tables hold, so the emulated service answers as Google's would.
`python -m tests.bench.bigquery_duplicates` prints the table.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from rich.console import Console
from rich.table import Table

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import BigQueryService
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

IDS, BATCH = 5_000, 500
PLACE = TopicPartition("orders", 0)
SCHEMA = s.struct({"id": s.INT64, "text": s.STRING})
LIMIT_S = 300.0
WAYS: Mapping[str, Mapping[str, str]] = {
    "insertId = topic-partition-offset": {},
    "dedup.fields=id": {"dedup.fields": "id", "dedup.merge.interval.ms": "1000"},
}


def measure_duplicates() -> list[dict[str, Any]]:
    """An entry per way: rows in the table, ids, duplicates, and how long it took."""
    entries = []
    with BigQueryService() as service:
        endpoint = service.endpoint
        client = bigquery.Client(
            project=endpoint.project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint.url}
        )
        for name, settings in WAYS.items():
            dataset = f"bench_{secrets.token_hex(3)}"
            client.create_dataset(dataset, timeout=30)
            own = {
                "project": endpoint.project, "defaultDataset": dataset, "bigquery.endpoint": endpoint.url,
                "bigquery.insecure": "true", "timePartitioningType": "NONE",
            }  # fmt: skip
            began_s = time.monotonic()
            for start in (0, IDS):  # the second life begins in the middle, as its commit was lost
                _live({**own, **settings}, start)
            took_s = time.monotonic() - began_s
            counts = f"SELECT COUNT(*) AS found, COUNT(DISTINCT id) AS ids FROM `{dataset}`.orders"
            row = next(iter(client.query(counts).result()))
            entries.append(
                {"name": name, "rows": row["found"], "ids": row["ids"], "duplicates": row["found"] - row["ids"],
                 "seconds": round(took_s, 1)}
            )  # fmt: skip
        client.close()
    return entries


def duplicates_table(entries: list[dict[str, Any]]) -> Table:
    table = Table("way", "ids", "rows", "duplicates", "s", title=f"A log of {2 * IDS:,} messages about {IDS:,} ids")
    for entry in entries:
        table.add_row(*(str(entry[name]) for name in ("name", "ids", "rows", "duplicates", "seconds")))
    return table


def _live(settings: Mapping[str, str], start: int) -> None:
    """One life of the task, from `start` to the end of the log."""
    connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings))
    task = connector.task(connector.task_configs(1)[0])
    task.open(FakeSinkContext())
    try:
        for batch in _batches(start):
            task.put(batch, Deadline.after(LIMIT_S))
            task.flush(Deadline.after(5.0))
        limit = Deadline.after(LIMIT_S)
        while task.flush(Deadline.after(5.0)).get(PLACE) != 2 * IDS:
            if not limit.wait(0.1):
                raise RuntimeError(f"The log was not in BigQuery within {LIMIT_S} s.")
    finally:
        task.close()


def _batches(start: int) -> Iterator[Batch]:
    for first in range(start, 2 * IDS, BATCH):
        offsets = range(first, min(first + BATCH, 2 * IDS))
        rows = [{"id": offset % IDS, "text": f"message {offset % IDS}"} for offset in offsets]
        yield Batch(
            PLACE.topic,
            Column.from_rows(rows, SCHEMA),
            timestamps_ms=pa.array([1_700_000_000_000 + offset for offset in offsets], pa.int64()),
            partition=PLACE.partition,
            consumed=Consumed(PLACE, pa.array(offsets, pa.int64()), offsets[-1] + 1),
        )


if __name__ == "__main__":
    Console().print(duplicates_table(measure_duplicates()))
