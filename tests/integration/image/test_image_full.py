"""Checks the image with all connectors: each library in it loads, and rows go from a database through Kafka into S3."""

from __future__ import annotations

import sqlite3

import pyarrow.dataset as ds
import pytest
import requests
from e2e_worker import wait_for
from image_container import DATA
from pyarrow.fs import FileSelector, S3FileSystem

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]  # the first one waits for the image
LIMIT_MB = 600
_LOAD = """
import ctypes, pathlib, sys, pyarrow, numpy
libraries = [path for path in pathlib.Path(sys.prefix).rglob("*.so*") if path.is_file()]
for path in libraries:
    ctypes.CDLL(str(path))
print(len(libraries))
"""


def test_each_library_loads_that_was_trimmed(full, slim):
    count = {name: int(image.run("/opt/connect/bin/python", "-I", "-c", _LOAD))
             for name, image in (("full", full), ("slim", slim))}  # fmt: skip
    assert count["full"] > count["slim"] > 50


def test_the_image_is_no_larger_than_it_was(full):
    assert full.size_bytes() / 1e6 < LIMIT_MB


def test_an_image_says_which_extra_it_lacks(start, slim):
    worker = start(slim)
    config = {
        "connector.class": "S3SinkConnector", "topics": "t", "s3.bucket.name": "b", "flush.size": "1",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    }  # fmt: skip
    refused = worker.create("lake", config)
    assert refused.status_code == 400
    assert "connect-for-kafka[s3]" in refused.text


def test_rows_go_from_a_database_into_s3(start, full, s3, s3_bucket, tmp_path, unique):
    worker = start(full, **{"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"})
    database = tmp_path / "data/shop.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT NOT NULL)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"buyer {n}") for n in range(1, 2001)])
    database.chmod(0o666)
    source = {
        "connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{DATA}/shop.db", "tasks.max": "1",
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "orders", "topic.prefix": unique,
    }  # fmt: skip
    sink = {
        "connector.class": "S3SinkConnector", "topics": f"{unique}orders", "topics.dir": unique, "tasks.max": "1",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "flush.size": "100000",
        "rotate.schedule.interval.ms": "500", "timezone": "UTC", "store.url": s3.url, "s3.bucket.name": s3_bucket,
        "s3.region": s3.region, "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
        "offset.flush.interval.ms": "500",
    }  # fmt: skip
    for name, config in (("shop", source), ("lake", sink)):
        answer = worker.create(name, config)
        assert answer.status_code == 201, answer.text
    files = S3FileSystem(
        endpoint_override=s3.url, access_key=s3.access_key_id, secret_key=s3.secret_access_key, region=s3.region
    )
    path = f"{s3_bucket}/{unique}"

    def arrived() -> list[int]:
        if not files.get_file_info(FileSelector(path, recursive=True, allow_not_found=True)):
            return []
        table = ds.dataset(path, filesystem=files, format="parquet").to_table()
        return sorted(table["id"].to_pylist())

    wait_for(lambda: arrived() == list(range(1, 2001)), 180, "all rows in S3")
    plugins = requests.get(f"{worker.url}/connector-plugins", timeout=60).json()
    assert {"S3SinkConnector", "CassandraSourceConnector"} <= {one["class"].rpartition(".")[2] for one in plugins}
