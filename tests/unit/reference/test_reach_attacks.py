"""Attacks every key of every plug-in by each kind of thing that it says it names: each attack is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.api.plugin import Plugin, PluginKind
from connect.api.reach import Reach
from connect.cluster.model.request_errors import RequestError
from connect.cluster.validation.check import Validator
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
BASE = {"connector.class": "FileStreamSource", "topic": "t"}
_FILES = {"flush.size": "1", "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat"}
VALID = {
    "BigQuerySinkConnector": {"topics": "t", "project": "p", "defaultDataset": "d", "keySource": "APPLICATION_DEFAULT"},
    "CassandraSinkConnector": {"topics": "t", "contact.points": "h", "keyspace": "k", "ssl.enabled": "true"},
    "CassandraSourceConnector": {
        "contact.points": "h", "keyspace": "k", "tables": "t", "topic.prefix": "t", "ssl.enabled": "true",
    },
    "AivenKafkaConnectS3SinkConnector": {"topics": "t", "aws.s3.bucket.name": "b", "aws.s3.region": "us-east-1"},
    "JdbcSinkConnector": {"topics": "t", "connection.url": "jdbc:postgresql://h/d"},
    "JdbcSourceConnector": {
        "connection.url": "jdbc:postgresql://h/d", "mode": "bulk", "topic.prefix": "t", "table.whitelist": "t",
    },
    "PostgresConnector": {
        "database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "t",
    },
    **{f"{name}Connector": {"database.hostname": "h", "database.user": "u", "topic.prefix": "t"}
       for name in ("MySql", "MariaDb")},
    "S3SinkConnector": {
        "topics": "t", "s3.bucket.name": "b", "flush.size": "1",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    },
    "RedisSinkConnector": {"topics": "t"},
    "IcebergSinkConnector": {
        "topics": "t", "iceberg.tables": "a.b", "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://h/c",
        "iceberg.catalog.warehouse": "s3://b/f",
    },
    "DatagenConnector": {"kafka.topic": "t"}, "MirrorSourceConnector": {"source.cluster.bootstrap.servers": "h:1"},
    "GcsSinkConnector": {"topics": "t", "gcs.bucket.name": "b", **_FILES},
    "AzureBlobStorageSinkConnector": {"topics": "t", "azblob.account.name": "abc", **_FILES},
    **{f"Hdfs{kind}SinkConnector": {"topics": "t", "store.url": "hdfs://h", **_FILES} for kind in ("", "3")},
    "FileStreamSinkConnector": {"topics": "t"},
    "ElasticsearchSinkConnector": {"topics": "t", "connection.url": "http://h:9200"},
    "OpensearchSinkConnector": {"topics": "t", "connection.url": "http://h:9200"},
    "HttpSinkConnector": {
        "topics": "t", "http.api.url": "http://h/in", "http.url": "http://h/in", "http.authorization.type": "none",
    },
    "DataFilesSourceConnector": {"folder": "s3://b/f", "format": "csv", "topic": "t"},
    "FileStreamSourceConnector": {"topic": "t"},
    "PythonFunction$Key": {}, "PythonFunction$Value": {}, "Sql$Key": {}, "Sql$Value": {},
    **{f"{form}Converter": {"schema.registry.url": "http://h"} for form in ("Avro", "JsonSchema", "Protobuf")},
}  # fmt: skip
"""What makes a configuration of each plug-in valid but for the key at hand; other rules are looked at after that."""
HEADS = {
    PluginKind.TRANSFORMATION: ({"transforms": "a"}, "transforms.a.", "type"),
    PluginKind.PREDICATE: ({"predicates": "a"}, "predicates.a.", "type"),
    PluginKind.CONVERTER: ({}, "value.converter.", ""),
    PluginKind.HEADER_CONVERTER: ({}, "header.converter.", ""),
}
ATTACKS = {
    Reach.FILE: ("{outside}/secret", "file://{outside}/secret"),
    Reach.CLASS: ("planted_canary.Canary", "planted_canary:run"),
    Reach.URL: ("file://{outside}/secret", "file:{outside}/secret", "gopher://127.0.0.1/_x"),
}
SHAPES = {
    ("connection.url", Reach.FILE): ("jdbc:sqlite:{outside}/secret", "sqlite:///file:{outside}/secret?uri=true"),
    ("connection.url", Reach.CLASS): ("planted+canary://h/d", "jdbc:postgresql://h/d?sslkey={outside}/secret"),
    ("connection.url", Reach.URL): ("duckdb:///{outside}/secret", "file://{outside}/secret"),
    ("iceberg.catalog.uri", Reach.FILE): ("sqlite:///{outside}/secret",),
    ("folder", Reach.FILE): ("{outside}",),
    ("s3.bucket.name", Reach.FILE): ("{outside}",),
}
"""How an attack looks where the value of a key has a form of its own."""
NEEDS = {
    ("keyfile", Reach.FILE): {"keySource": "FILE"},
    ("s3.bucket.name", Reach.FILE): {"storage.class": "connect.s3.LocalStorage"},
    ("iceberg.catalog.uri", Reach.FILE): {"table.format": "iceberg", "iceberg.catalog.type": "sql"},
    ("iceberg.catalog.uri", Reach.HOST): {"table.format": "iceberg", "iceberg.catalog.type": "sql"},
    ("iceberg.catalog.uri", Reach.URL): {"table.format": "iceberg", "iceberg.catalog.type": "rest"},
}
"""What else a configuration says for a key to name such a thing."""
ELSEWHERE = {Reach.HOST, Reach.SQL}
"""Any machine may be named, in its own protocol; SQL is a database's, or DuckDB's (see test_function_modules)."""


def cases() -> Iterator[tuple[Plugin, str, Reach, str]]:
    for plugin in Catalog.installed().plugins(*CONNECTORS, *HEADS):
        for d in plugin.config.definitions():
            for reach in () if d.from_worker else d.reaches:
                if reach not in ELSEWHERE:
                    for attack in SHAPES.get((d.name, reach), ATTACKS[reach]):
                        yield plugin, d.name, reach, attack


def config_of(plugin: Plugin, name: str, reach: Reach, value: str) -> tuple[dict[str, str], str]:
    """A configuration whose one key holds the value, and that key in full."""
    own = {**VALID[plugin.name.rpartition(".")[2]], **NEEDS.get((name, reach), {}), name: value}
    if plugin.kind in CONNECTORS:
        return {"connector.class": plugin.name, "name": "a", **own}, name
    more, prefix, last = HEADS[plugin.kind]
    head = {**BASE, "name": "a", **more, prefix + last if last else prefix[:-1]: plugin.name}
    return {**head, **{prefix + key: one for key, one in own.items()}}, prefix + name


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder that the worker lists and one that it does not; a module that shows that it was run."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("s3cr3t-c4n4ry")
    (tmp_path / "planted_canary.py").write_text("def run(row): return row\nclass Canary: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return inside, outside


def test_each_attack_is_refused_at_its_key_and_runs_nothing(places: tuple[Path, Path]) -> None:
    inside, outside = places
    worker = WorkerConfig.parse({
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON, "allowed.paths": str(inside),
    })  # fmt: skip
    validator = Validator(Catalog.installed(), worker)
    passed, shown = [], []
    for plugin, name, reach, form in cases():
        config, key = config_of(plugin, name, reach, form.format(outside=outside))
        try:
            infos = validator.validate(dict(config))
        except RequestError as refused:
            told = {key: (refused.message,)}
        else:
            told = {info.value.name: info.value.errors for info in infos.configs if info.value.errors}
        if key not in told:
            passed.append(f"{plugin.name}: {key}={config[key]} ({reach}), but of {told}")
        shown += [error for errors in told.values() for error in errors if "s3cr3t-c4n4ry" in error]
    assert not passed, "\n".join(["These were not refused:", *passed])
    assert shown == []
    assert "planted_canary" not in sys.modules
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "s3cr3t-c4n4ry"


def test_there_is_an_attack_on_every_kind_of_plug_in() -> None:
    found = list(cases())
    assert {plugin.kind for plugin, *_ in found} >= {PluginKind.SOURCE, PluginKind.SINK, PluginKind.CONVERTER}
    assert {reach for _, _, reach, _ in found} == set(ATTACKS)


FOREIGN = {
    ("connection.url", Reach.HOST): (
        "jdbc:postgresql://h,foreign.example/d", "postgresql+psycopg://h/d?host=foreign.example",
        "jdbc:mysql://h:1,foreign.example:2/d", "mariadb+pymysql://u:a@foreign.example/d",
    ),
    ("connection.url", Reach.URL): (),
    ("redis.uri", Reach.HOST): ("rediss://h@foreign.example:1/0",),
    ("redis.uri", Reach.URL): ("redis://u:p@foreign.example/0",),
    ("hdfs.url", Reach.URL): ("hdfs://foreign.example:1/x", "webhdfs://foreign.example:1"),
    ("iceberg.catalog.uri", Reach.URL): ("https://u:p@foreign.example/c",),
    ("iceberg.catalog.uri", Reach.HOST): (
        "postgresql+psycopg://h:5432/@foreign.example/d", "postgresql+psycopg://h#:p@foreign.example/d",
        "mysql+pymysql://h:1?@foreign.example/d",
    ),
}  # fmt: skip
"""How another machine is named where the value of a key has a form of its own."""


def machines() -> Iterator[tuple[Plugin, str, Reach, str]]:
    for plugin in Catalog.installed().plugins(*CONNECTORS, *HEADS):
        for d in plugin.config.definitions():
            for reach in {Reach.HOST, Reach.URL} & set(() if d.from_worker else d.reaches):
                usual = "foreign.example:1" if reach is Reach.HOST else "https://foreign.example:1/x"
                yield from ((plugin, d.name, reach, text) for text in FOREIGN.get((d.name, reach), (usual,)))


@pytest.mark.parametrize("value", ["dns://h/foreign.example:443", "foreign.example://h", "h,x://h"])
def test_a_key_that_names_a_host_takes_no_url_with_another_host_in_it(value: str) -> None:
    passed, asked = [], set()
    for plugin in Catalog.installed().plugins(*CONNECTORS, *HEADS):
        for d in plugin.config.definitions():
            if Reach.HOST in d.reaches and Reach.URL not in d.reaches:
                config, key = config_of(plugin, d.name, Reach.HOST, value)
                asked.add(key)
                infos = Validator(Catalog.installed(), strict_worker("h")).validate(config).configs
                told = [error for info in infos if info.value.name == key for error in info.value.errors]
                if not any("it is a URL. Write host or host:port." in error for error in told):
                    passed.append(f"{plugin.name}: {key}, but {told}")
    assert not passed, "\n".join(["These were not refused:", *passed])
    assert asked >= {"bigquery.storage.endpoint", "value.converter.proxy.host", "contact.points"}


def strict_worker(listed: str) -> WorkerConfig:
    return WorkerConfig.parse({
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON, "security.profile": "strict",
        "allowed.hosts": listed,
    })  # fmt: skip


def test_a_strict_worker_lets_no_key_name_a_machine_that_it_does_not_list() -> None:
    strict, told_of = strict_worker("h,*.googleapis.com"), "lets no configuration name the host"
    validator, passed, asked = Validator(Catalog.installed(), strict), [], set()
    for plugin, name, reach, text in machines():
        config, key = config_of(plugin, name, reach, text)
        asked.add(key)
        try:
            infos = validator.validate(dict(config))
        except RequestError as refused:
            told = [refused.message]
        else:
            told = [error for info in infos.configs if info.value.name == key for error in info.value.errors]
        if not any(f"{told_of} foreign.example" in error for error in told):
            passed.append(f"{plugin.name}: {key}={text}, but {told}")
    assert not passed, "\n".join(["These were not refused:", *passed])
    assert asked >= {"connection.url", "contact.points", "value.converter.schema.registry.url", "bigquery.endpoint"}
