"""Names that lead a request to another host, or to another path of it, are refused by the key that holds them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connect.api.config import ConnectorConfig
from connect.api.errors import ConfigError
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.file.data_config import DataFilesSourceConfig
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.settings.classes import AZURE_STORAGE, GCS_STORAGE, HDFS_STORAGE
from connectors.s3.settings.config import S3SinkConfig

ATTACKS = [
    "evil.example/#",
    "u@evil.example",
    "a/b",
    "a#b",
    "a?b",
    "a:1/",
    "a\nb",
    "a\r\nHost: evil",
    "a\\b",
    "a%2fb",
    "..",
    "é",
]
S3 = {"s3.bucket.name": "lake", "format.class": "io.confluent.connect.s3.format.json.JsonFormat", "flush.size": "10"}
AIVEN = {"aws.s3.bucket.name": "lake"}
FILES = {"folder": "s3://lake/in", "topic": "t", "format": "json"}
BIGQUERY = {"project": "shop-1", "defaultDataset": "orders", "keySource": "APPLICATION_DEFAULT"}
KEYS = [
    (S3SinkConfig, S3, "s3.bucket.name"), (S3SinkConfig, S3, "s3.region"),
    (S3SinkConfig, S3, "s3.credentials.provider.sts.region"),
    (S3SinkConfig, {**S3, "storage.class": GCS_STORAGE}, "s3.bucket.name"),
    (S3SinkConfig, {**S3, "storage.class": AZURE_STORAGE, "azblob.account.name": "shop"}, "s3.bucket.name"),
    (S3SinkConfig, {**S3, "storage.class": AZURE_STORAGE}, "azblob.account.name"),
    (AivenS3SinkConfig, AIVEN, "aws.s3.bucket.name"), (AivenS3SinkConfig, AIVEN, "aws.s3.region"),
    (DataFilesSourceConfig, FILES, "s3.region"), (BigQuerySinkConfig, BIGQUERY, "project"),
    (BigQuerySinkConfig, BIGQUERY, "defaultDataset"),
]  # fmt: skip
GOOD = [
    (S3SinkConfig, {**S3, "s3.region": "RegionOne", "s3.bucket.name": "Old_bucket.of-1999"}),
    (S3SinkConfig, {**S3, "s3.region": "us-gov-west-1", "s3.bucket.name": "lake-2.example.com"}),
    (S3SinkConfig, {**S3, "storage.class": AZURE_STORAGE, "azblob.account.name": "shop1", "s3.bucket.name": "$web"}),
    (S3SinkConfig, {**S3, "storage.class": HDFS_STORAGE, "s3.bucket.name": "/lake/a b", "store.url": "http://n:1"}),
    (AivenS3SinkConfig, {**AIVEN, "aws.s3.region": "eu-central-1"}),
    (DataFilesSourceConfig, {**FILES, "folder": "s3://lake/a@b/#c"}),
    (BigQuerySinkConfig, {**BIGQUERY, "project": "example.com:shop-1"}),
]


def problems(kind: type[ConnectorConfig], given: Mapping[str, str]) -> set[str]:
    """Return the keys that are told to be wrong."""
    try:
        kind.parse(given)
    except ConfigError as error:
        return {problem.key for problem in error.problems}
    return set()


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize(("kind", "given", "key"), KEYS)
def test_a_name_that_leads_elsewhere_is_refused(
    kind: type[ConnectorConfig], given: Mapping[str, str], key: str, name: str
) -> None:
    assert key in problems(kind, {**given, key: name})


@pytest.mark.parametrize("name", [name for name in ATTACKS if "/" not in name])
def test_a_bucket_of_files_that_leads_elsewhere_is_refused(name: str) -> None:
    assert "folder" in problems(DataFilesSourceConfig, {**FILES, "folder": f"s3://{name}/in"})


@pytest.mark.parametrize(("kind", "given"), GOOD)
def test_a_name_that_a_service_gives_is_taken(kind: type[ConnectorConfig], given: Mapping[str, str]) -> None:
    assert problems(kind, given) == set()
