"""Checks Confluent's sinks for Google's, Azure's and HDFS's stores: each of their keys has an answer, and rows get
there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import pytest
from hdfs_http_server import Hdfs
from s3_http_store import TP, Store, served
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.testing.fakes import FakeSinkContext
from connectors.s3.connector import connector
from connectors.s3.settings.other_stores import (
    AzureBlobSinkConfig,
    GcsSinkConfig,
    Hdfs3SinkConfig,
    HdfsSinkConfig,
    OtherStoreConfig,
)

NUMBERS = s.struct({"n": s.INT64})
COMMON = {"flush.size": "2", "topics": "orders"}
GCS = {
    "gcs.bucket.name": "lake", "gcs.part.size": "5242880", "gcs.compression.type": "none", "gcs.part.retries": "0",
    "gcs.retry.backoff.ms": "1", "storage.class": "io.confluent.connect.gcs.storage.GcsStorage",
    "partitioner.class": "io.confluent.connect.storage.partitioner.DefaultPartitioner",
    "format.class": "io.confluent.connect.gcs.format.json.JsonFormat",
}  # fmt: skip
AZURE = {
    "azblob.account.name": "account", "azblob.account.key": "a2V5", "azblob.container.name": "lake",
    "azblob.block.size": "5242880", "azblob.retry.type": "EXPONENTIAL", "azblob.retry.retries": "3",
    "azblob.retry.max.backoff.ms": "9", "azblob.connection.timeout.ms": "9", "azblob.compression.type": "gzip",
    "storage.class": "io.confluent.connect.azure.blob.storage.AzureBlobStorage",
    "format.class": "io.confluent.connect.azure.blob.format.json.JsonFormat",
}  # fmt: skip
HDFS = {
    "hadoop.conf.dir": "/etc/hadoop/", "hadoop.home": "/opt/hadoop", "logs.dir": "/tmp", "rotate.interval.ms": "120000",
    "hive.metastore.uris": "thrift://hive:9083", "hive.database": "lake", "schema.compatibility": "BACKWARD",
    "storage.class": "io.confluent.connect.hdfs3.storage.HdfsStorage",
    "format.class": "io.confluent.connect.hdfs3.json.JsonFormat", "hdfs.user.name": "connect",
}  # fmt: skip
PUBLIC: list[tuple[type[OtherStoreConfig], Mapping[str, str]]] = [
    (GcsSinkConfig, GCS), (GcsSinkConfig, {**GCS, "gcs.credentials.path": "/tmp/key.json"}),
    (AzureBlobSinkConfig, AZURE),
    (Hdfs3SinkConfig, {**HDFS, "store.url": "hdfs://namenode:9000"}),
    (HdfsSinkConfig, {**HDFS, "hdfs.url": "hdfs://namenode:8020/lake"}),
]  # fmt: skip


@pytest.fixture
def store() -> Iterator[Store]:
    with served(Store()) as server:
        yield server


@pytest.fixture
def hdfs() -> Iterator[Hdfs]:
    with served(Hdfs()) as server:
        yield server


@pytest.mark.parametrize(("config", "given"), PUBLIC)
def test_public_keys_are_all_known(config: type[OtherStoreConfig], given: Mapping[str, str]) -> None:
    parsed = config.parse({**COMMON, **given, **EVERYWHERE})
    assert list(config.unknown_keys(given)) == []
    shown = [d.name for d in config.definitions() if not d.internal]
    assert not [name for name in shown if name.startswith(("s3.", "aws."))]
    assert parsed.compression_type == given.get("azblob.compression.type", "none")


@pytest.mark.parametrize(
    ("config", "given", "address", "folder"),
    [
        (Hdfs3SinkConfig, {"store.url": "hdfs://node:9000"}, "http://node:9870", "/"),
        (HdfsSinkConfig, {"hdfs.url": "hdfs://node:8020/a/b/"}, "http://node:50070", "/a/b"),
        (Hdfs3SinkConfig, {"store.url": "hdfs://ha/x", "webhdfs.url": "https://w:1"}, "https://w:1", "/x"),
        (Hdfs3SinkConfig, {"store.url": "hdfs://[::1]:9000/x"}, "http://[::1]:9870", "/x"),
        (Hdfs3SinkConfig, {"store.url": "webhdfs://node:9871/x"}, "http://node:9871", "/x"),
        (HdfsSinkConfig, {"hdfs.url": "webhdfs://node"}, "http://node:50070", "/"),
        (Hdfs3SinkConfig, {"store.url": "http://node:9870", "hdfs.folder": "/y"}, "http://node:9870", "/y"),
    ],
)
def test_the_name_nodes_web_interface_is_asked(
    config: type[OtherStoreConfig], given: Mapping[str, str], address: str, folder: str
) -> None:
    parsed = config.parse({**COMMON, **given})
    assert (parsed.store_url, parsed.bucket) == (address, folder)
    again = parsed.changed({"flush.size": "5"})
    assert (again.store_url, again.bucket) == (address, folder)


@pytest.mark.parametrize(
    ("config", "given", "key"),
    [
        (GcsSinkConfig, {}, "gcs.bucket.name"),
        (GcsSinkConfig, {**GCS, "storage.class": "io.confluent.connect.s3.storage.S3Storage"}, "storage.class"),
        (AzureBlobSinkConfig, {**AZURE, "azblob.account.name": ""}, "azblob.account.name"),
        (GcsSinkConfig, {**GCS, "gcs.bucket.name": "a/b@c"}, "gcs.bucket.name"),
        (AzureBlobSinkConfig, {**AZURE, "azblob.container.name": "a/b@c"}, "azblob.container.name"),
        (Hdfs3SinkConfig, HDFS, "store.url"),
        (Hdfs3SinkConfig, {**HDFS, "store.url": "hdfs://[bad"}, "store.url"),
        (Hdfs3SinkConfig, {**HDFS, "store.url": "hdfs://n", "hdfs.folder": "a/b"}, "hdfs.folder"),
        (HdfsSinkConfig, {**HDFS, "hdfs.url": "hdfs://[bad"}, "hdfs.url"),
        (HdfsSinkConfig, {**HDFS, "hdfs.url": "webhdfs://node:99999"}, "hdfs.url"),
        (
            HdfsSinkConfig,
            {**HDFS, "hdfs.url": "hdfs://n", "hdfs.authentication.kerberos": "true"},
            "hdfs.authentication.kerberos",
        ),
    ],
)
def test_what_cannot_run_is_refused_at_its_key(
    config: type[OtherStoreConfig], given: Mapping[str, str], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config.parse({**COMMON, **given})
    assert key in {problem.key for problem in caught.value.problems}


def write(config: OtherStoreConfig) -> None:
    """Rows 0 to 3 of a partition, by a task as the connector makes it, which ends two files."""
    made = connector(config)
    task = made.task({**made.task_configs(1)[0]})
    task.open(FakeSinkContext())
    task.assigned([TP])
    try:
        for first in (0, 2):
            task.put(batch([{"n": first}, {"n": first + 1}], NUMBERS, first), Deadline.after(60))
        assert task.flush(Deadline.after(60)) == {TP: 4}
    finally:
        task.close()


def test_rows_get_into_googles_store(store: Store) -> None:
    write(GcsSinkConfig.parse({**COMMON, **GCS, "store.url": f"http://127.0.0.1:{store.server_port}"}))
    assert [json.loads(line) for body, _ in store.objects.values() for line in body.splitlines()] == [
        {"n": n} for n in range(4)
    ]
    assert all(unquote(path).startswith("/lake/topics/t/partition=0/") for path in store.objects)


def test_rows_get_into_hdfs(hdfs: Hdfs) -> None:
    write(Hdfs3SinkConfig.parse({**COMMON, **HDFS, "store.url": "hdfs://namenode:9000/lake", "webhdfs.url": hdfs.url}))
    bodies = {path: body for path, body in hdfs.files.items() if path.startswith("/lake/topics/")}
    assert [json.loads(line) for _, body in sorted(bodies.items()) for line in body.splitlines()] == [
        {"n": n} for n in range(4)
    ]


def test_a_task_host_finds_them_by_name() -> None:
    for name in ("GcsSink", "AzureBlobStorageSink", "Hdfs3Sink", "HdfsSink"):
        assert issubclass(Catalog.installed().connector(name).config, OtherStoreConfig)


def test_hive_gets_no_tables_which_a_note_says():
    config = Hdfs3SinkConfig.parse({**COMMON, **HDFS, "store.url": "hdfs://n", "hive.integration": "true"})
    assert [note.key for note in config.notes() if "No tables are made in Hive" in note.message] == ["hive.integration"]
