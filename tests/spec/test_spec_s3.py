"""The S3 sink keeps the contract of sinks, on a real S3 store; objects are read back by boto3 and pyarrow alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import boto3
import pyarrow.parquet as pq
import pytest
from botocore.config import Config

from connect.testing.drivers import Row
from connect.testing.sink import SinkSuite
from connect.tools.services import S3Endpoint
from connectors.s3.plugin import SINK

pytestmark = pytest.mark.integration


class S3Driver:
    """Parquet objects of six records each; every reset starts a folder of its own."""

    topic = "orders"
    other_topics = ("returns",)
    rows_per_claim = 6
    cannot_hold: Mapping[str, str] = {}

    def __init__(self, endpoint: S3Endpoint, bucket: str, prefix: str) -> None:
        self.endpoint, self.bucket, self.prefix = endpoint, bucket, prefix
        self.folders = count()
        self.folder = prefix
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint.url,
            aws_access_key_id=endpoint.access_key_id,
            aws_secret_access_key=endpoint.secret_access_key,
            region_name=endpoint.region,
            config=Config(s3={"addressing_style": "path"}),
        )

    def config(self) -> Mapping[str, str]:
        return {
            "s3.bucket.name": self.bucket,
            "s3.region": self.endpoint.region,
            "store.url": self.endpoint.url,
            "aws.access.key.id": self.endpoint.access_key_id,
            "aws.secret.access.key": self.endpoint.secret_access_key,
            "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
            "flush.size": "6",
            "topics.dir": self.folder,
        }

    def reset(self) -> None:
        self.folder = f"{self.prefix}-{next(self.folders)}"

    def read_back(self) -> Sequence[Row]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{self.folder}/")
        return [row for page in pages for found in page.get("Contents", []) for row in self._rows(found["Key"])]

    read_types = read_back

    def schemaless_bad_rows(self) -> Mapping[str, Callable[[Row], Row]]:
        return {
            "an integer of over 64 bits": lambda row: {**row, "whole": 2**64},
            "an array of several types": lambda row: {**row, "tags": [1, "two"]},
            "an object without members": lambda row: {**row, "tags": {}},
        }

    def _rows(self, key: str) -> Sequence[Row]:
        body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        rows: list[Row] = pq.read_table(io.BytesIO(body)).to_pylist(maps_as_pydicts="strict")
        return rows


class TestS3Sink(SinkSuite):
    plugin = SINK
    examples = 10

    @pytest.fixture
    def driver(self, s3: S3Endpoint, s3_bucket: str, unique: str) -> S3Driver:
        return S3Driver(s3, s3_bucket, unique)
