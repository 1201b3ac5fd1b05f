"""Iceberg tables on a real S3 store, written by processes that are killed and frozen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from iceberg_processes import TOPIC, Storm
from pyiceberg.catalog.sql import SqlCatalog
from s3_sink_driver import PARQUET

from connect.api.errors import ConfigError
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connect.tools.services import S3Endpoint
from connectors.s3.connector import connector
from connectors.s3.iceberg.stored_progress import told_by
from connectors.s3.settings.config import S3SinkConfig

pytestmark = pytest.mark.integration


@pytest.fixture
def given(s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path) -> dict[str, str]:
    return {
        "s3.bucket.name": s3_bucket, "s3.region": s3.region, "store.url": s3.url, "topics.dir": unique,
        "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
        "format.class": PARQUET, "flush.size": "100000", "rotate.schedule.interval.ms": "1", "table.format": "iceberg",
        "iceberg.catalog.type": "sql", "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
        "s3.local.folders": str(tmp_path), "iceberg.partition.by": "p",
    }  # fmt: skip


@pytest.fixture
def catalog(s3: S3Endpoint, tmp_path: Path) -> SqlCatalog:
    return SqlCatalog("iceberg", **{
        "uri": f"sqlite:///{tmp_path}/catalog.db", "s3.endpoint": s3.url, "s3.region": s3.region,
        "s3.access-key-id": s3.access_key_id, "s3.secret-access-key": s3.secret_access_key,
    })  # fmt: skip


def check_each_row_once(catalog: SqlCatalog, rows: int) -> None:
    table = catalog.load_table(f"default.{TOPIC}")
    found = table.scan().to_arrow()
    times = Counter(zip(found["p"].to_pylist(), found["n"].to_pylist(), strict=True))
    assert {row for row, count in times.items() if count > 1} == set(), "rows are there twice"
    assert times.keys() == {(number, n) for number in range(3) for n in range(rows)}
    told = told_by(table).progress
    held = [told.own("under-test", TopicPartition(TOPIC, number)) for number in range(3)]
    assert held == [((0, rows),)] * 3


def test_each_row_is_in_the_table_once_though_tasks_are_killed_and_frozen(given, catalog, tmp_path):
    Storm(given, tmp_path, rows=240, seed=3, kills=2, freezes=2).run()
    check_each_row_once(catalog, 240)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(10))
def test_each_of_many_rows_is_in_the_table_once_though_tasks_are_killed_and_frozen(given, catalog, tmp_path, seed):
    Storm(given, tmp_path, rows=1000, seed=100 + seed, kills=12, freezes=8).run()
    check_each_row_once(catalog, 1000)


def test_check_opens_the_catalogue_and_the_bucket(given):
    connector(S3SinkConfig.parse(given)).check(Deadline.after(60))
    with pytest.raises(ConfigError, match="no-such-bucket") as raised:
        connector(S3SinkConfig.parse({**given, "s3.bucket.name": "no-such-bucket"})).check(Deadline.after(60))
    assert raised.value.key == "s3.bucket.name"
