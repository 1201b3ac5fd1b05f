"""Makes batches and tasks for tests of the S3 sink; boto3 reads the objects back, never the sink's code."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
from botocore.config import Config

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.schema import Schema
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import S3Endpoint
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask

PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
ROWS = s.struct({"n": s.INT64, "p": s.STRING})


@dataclass
class Objects:
    """Holds the objects below one prefix, as any other S3 client sees them."""

    endpoint: S3Endpoint
    bucket: str
    prefix: str

    def __post_init__(self) -> None:
        self.client = boto3.client(
            "s3",
            endpoint_url=self.endpoint.url,
            aws_access_key_id=self.endpoint.access_key_id,
            aws_secret_access_key=self.endpoint.secret_access_key,
            region_name=self.endpoint.region,
            config=Config(s3={"addressing_style": "path"}),
        )

    def names(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{self.prefix}/")
        return sorted(found["Key"] for page in pages for found in page.get("Contents", []))

    def body(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def metadata(self, key: str) -> dict[str, str]:
        return self.client.head_object(Bucket=self.bucket, Key=key)["Metadata"]

    def table(self, key: str) -> pa.Table:
        return pq.read_table(io.BytesIO(self.body(key)))

    def column(self, name: str) -> list[Any]:
        return [value for key in self.names() for value in self.table(key)[name].to_pylist()]


def properties(endpoint: S3Endpoint, bucket: str, prefix: str, **others: str) -> dict[str, str]:
    """Return a connector's configuration. `others` has keys with `_` for each dot."""
    return {
        "s3.bucket.name": bucket,
        "s3.region": endpoint.region,
        "store.url": endpoint.url,
        "aws.access.key.id": endpoint.access_key_id,
        "aws.secret.access.key": endpoint.secret_access_key,
        "format.class": PARQUET,
        "flush.size": "100",
        "topics.dir": prefix,
        "s3.part.retries": "0",
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def connector(given: Mapping[str, str]) -> S3SinkConnector:
    return S3SinkConnector(S3SinkConfig.parse(given))


def open_task(given: Mapping[str, str], **settings: Any) -> S3SinkTask:
    task = S3SinkTask(ConfluentPlan(S3SinkConfig.parse(given)), **settings)
    task.open(FakeSinkContext())
    return task


def batch(
    partition: TopicPartition,
    values: Sequence[Any] | pa.Array,
    start_offset: int,
    schema: Schema | None = None,
) -> Batch:
    """Return rows with consecutive offsets."""
    column = Column.from_arrow(values, schema) if isinstance(values, pa.Array) else Column.from_rows(values, schema)
    end = start_offset + len(column)
    offsets = pa.array(range(start_offset, end), pa.int64())
    return Batch(
        partition.topic,
        column,
        timestamps_ms=pa.array([1_700_000_000_000 + offset for offset in range(start_offset, end)], pa.int64()),
        partition=partition.partition,
        consumed=Consumed(partition, offsets, end),
    )


def soon() -> Deadline:
    return Deadline.after(60)


def write_with_crashes(given: Mapping[str, str], partition: TopicPartition, seed: int) -> None:
    """Write numbers up to 300 with tasks that die; each next task reads again, in other batches and with another
    clock.
    """
    chance, clock, committed = random.Random(seed), [0], 0
    settings = {
        **given, "rotate.schedule.interval.ms": "1000", "partition.field.name": "p",
        "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
    }  # fmt: skip
    while committed < 300:
        task, position = open_task(settings, now_ms=lambda: clock[0]), committed
        for _ in range(chance.randint(1, 8)):
            stop = min(300, position + chance.randint(1, 40))
            rows = [{"n": n, "p": "abc"[n % 3]} for n in range(position, stop)]
            task.put(batch(partition, rows, position, ROWS), soon())
            position, clock[0] = stop, clock[0] + chance.randint(0, 600)
        committed = chance.choice([committed, task.flush(soon()).get(partition, committed)])
        task.close()
