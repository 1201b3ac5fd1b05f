"""Measures the BigQuery sink as a worker runs it: from JSON in Kafka to merged rows in the emulated service, and its
memory.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from connect.tools.services import BigQueryEndpoint, BigQueryService
from tests.bench.measure import entry
from tests.bench.throughput import Bench, new_topic, run

IDS = 100_000
MUST_PER_CORE = 166_667
"""Six CPU seconds for a million rows."""
BUFFERS_MIB = (128, 32)
"""buffer.max.bytes: its default, and less, to be seen in the memory."""


def measure_worker(bench: Bench) -> Iterator[dict[str, Any]]:
    """The same topic by each size of the buffer. RuntimeError where a table does not hold each id once."""
    topic = new_topic(bench.kafka, "orders")
    run("raw_produce", {**bench.base, "topic": topic, "ids": str(IDS)})
    with BigQueryService() as service:
        endpoint = service.endpoint
        client = bigquery.Client(
            project=endpoint.project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint.url}
        )
        for buffer_mib in BUFFERS_MIB:
            dataset = f"bench_{secrets.token_hex(3)}"
            client.create_dataset(dataset, timeout=30)
            connector = json.dumps(_connector(endpoint, dataset, buffer_mib))
            figure = run("kafka_to_bigquery", {**bench.base, "topic": topic, "connector": connector})
            counts = f"SELECT COUNT(*) AS found, COUNT(DISTINCT id) AS ids FROM `{dataset}`.`{topic.replace('-', '_')}`"
            row = next(iter(client.query(counts).result()))
            if {row["found"], row["ids"]} != {IDS}:
                raise RuntimeError(f"Of {IDS} ids the table has {row['ids']}, in {row['found']} rows.")
            name = f"Kafka JSON -> load jobs and MERGE in BigQuery, buffer of {buffer_mib} MiB"
            yield entry(name, figure, None, None, must=MUST_PER_CORE)
        client.close()


def _connector(endpoint: BigQueryEndpoint, dataset: str, buffer_mib: int) -> dict[str, str]:
    return {
        "name": dataset, "project": endpoint.project, "defaultDataset": dataset, "bigquery.endpoint": endpoint.url,
        "bigquery.insecure": "true", "sanitizeTopics": "true", "timePartitioningType": "NONE", "dedup.fields": "id",
        "dedup.merge.interval.ms": "1000", "buffer.max.bytes": str(buffer_mib * 2**20),
    }  # fmt: skip
