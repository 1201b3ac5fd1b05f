"""Attacks on a worker by whoever reaches its REST port, its config topic or a service that it asks: nothing is read
outside of what the worker lists, nothing is written there, and nothing runs.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

sys.path.append(str(Path(__file__).parents[2] / "unit/s3"))
from hostile_catalog import HostileCatalog, served

PROVIDERS = "org.apache.kafka.common.config.provider."
SENTINEL = "SENTINEL-of-the-secret-file"
S3 = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "none", "flush.size": "1",
    "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
}  # fmt: skip


@dataclass
class Attacked:
    """A worker that lists one folder, and what lies outside of it."""

    worker: WorkerProcess
    inside: Path
    outside: Path

    def untouched(self) -> None:
        """The folder outside is as it was."""
        assert sorted(path.name for path in self.outside.iterdir()) == ["secret.db", "secret.txt"]
        assert self.outside.joinpath("secret.txt").read_text() == f"key={SENTINEL}\n"
        assert SENTINEL not in self.worker.log_path.read_text()


@pytest.fixture(scope="module")
def attacked(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    inside, outside = folder / "inside", folder / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text(f"key={SENTINEL}\n")
    with closing(sqlite3.connect(outside / "secret.db")) as database, database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
        database.execute("INSERT INTO t VALUES (1, ?)", (SENTINEL,))
    (inside / "link").symlink_to(outside)
    worker = WorkerProcess(
        folder / "worker", kafka.bootstrap_servers, folder.name,
        **{
            "allowed.paths": str(inside), "config.providers": "file,dir",
            "config.providers.file.class": PROVIDERS + "FileConfigProvider",
            "config.providers.dir.class": PROVIDERS + "DirectoryConfigProvider",
        },
    )  # fmt: skip
    worker.start()
    yield Attacked(worker, inside, outside)
    worker.stop()


def attacks(inside: Path, outside: Path) -> dict[str, dict[str, str]]:
    """Configurations that name what the worker does not list."""
    source = {"connector.class": "FileStreamSource", "topic": "stolen", "file": f"{inside}/fine.txt"}
    jdbc = {"connector.class": "JdbcSource", "mode": "bulk", "topic.prefix": "stolen", "table.whitelist": "t"}
    avro = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://127.0.0.1:9"}
    sink = {"connector.class": "JdbcSink", "topics": "none", "auto.create": "true"}
    return {
        "file": source | {"file": f"{outside}/secret.txt"},
        "link": source | {"file": f"{inside}/link/secret.txt"},
        "dots": source | {"file": f"{inside}/../outside/secret.txt"},
        "file sink": {"connector.class": "FileStreamSink", "topics": "none", "file": f"{outside}/made.txt"},
        "data files": {
            "connector.class": "DataFilesSource", "folder": str(outside), "format": "csv", "topic": "stolen",
        },
        "sqlite": jdbc | {"connection.url": f"jdbc:sqlite:{outside}/secret.db"},
        "sqlite uri": jdbc | {"connection.url": f"sqlite:///file:{outside}/secret.db?uri=true"},
        "sqlite sink": sink | {"connection.url": f"jdbc:sqlite:{outside}/made.db"},
        "key of postgresql": jdbc | {"connection.url": f"jdbc:postgresql://127.0.0.1:9/d?sslkey={outside}/secret.txt"},
        "local storage": S3 | {"storage.class": "connect.s3.LocalStorage", "s3.bucket.name": str(outside)},
        "sql catalogue": S3 | {
            "s3.bucket.name": "lake", "table.format": "iceberg", "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": f"sqlite:///{outside}/made.db",
        },
        "keyfile": {
            "connector.class": "BigQuerySink", "topics": "none", "project": "p", "defaultDataset": "d",
            "keyfile": f"{outside}/secret.txt",
        },
        "authority of cassandra": {
            "connector.class": "CassandraSource", "contact.points": "127.0.0.1", "keyspace": "k",
            "ssl.enabled": "true", "ssl.ca.file": f"{outside}/secret.txt",
        },
        "provider": source | {"topic": f"${{file:{outside}/secret.txt:key}}"},
        "provider by link": source | {"topic": f"${{file:{inside}/link/secret.txt:key}}"},
        "directory": source | {"topic": f"${{dir:{outside}:secret.txt}}"},
        "override": source | {"producer.override.ssl.truststore.location": f"{outside}/secret.txt"},
        "registry": source | avro | {"value.converter.schema.registry.ssl.keystore.location": f"{outside}/secret.txt"},
        "leave": source | {"file": f"{outside}/secret.txt", "allowed.paths": "/", "file.stream.paths": "/"},
    }  # fmt: skip


NAMES = list(attacks(Path("/"), Path("/")))


@pytest.mark.parametrize("name", NAMES)
def test_a_post_names_no_file_that_the_worker_does_not_list(attacked: Attacked, name: str) -> None:
    config = attacks(attacked.inside, attacked.outside)[name]
    validated = attacked.worker.validate(config["connector.class"], {"name": "a", **config})
    told = [error for entry in validated["configs"] for error in entry["value"]["errors"]]
    created = attacked.worker.create(name, config)
    assert created.status_code == 400, created.text
    assert any("allowed.paths" in text for text in told), told
    assert "allowed.paths" in created.text
    assert SENTINEL not in json.dumps(validated) + created.text
    attacked.untouched()


@pytest.mark.parametrize("name", NAMES)
def test_a_record_that_is_planted_into_the_config_topic_reads_and_writes_nothing(
    attacked: Attacked, kafka: KafkaEndpoint, name: str
) -> None:
    connector = f"planted-{NAMES.index(name)}"
    config = {**attacks(attacked.inside, attacked.outside)[name], "name": connector, "tasks.max": "1"}
    task = {**config, "task.class": "x", "tables": '"t"', "share": "0", "share.of": "1"}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for key, value in {
        f"connector-{connector}": {"properties": config},
        f"task-{connector}-0": {"properties": task},
        f"commit-{connector}": {"tasks": 1},
    }.items():
        producer.produce(attacked.worker.properties["config.storage.topic"], json.dumps(value), key)
    assert producer.flush(30) == 0

    def failed() -> str:
        status = attacked.worker.status(connector)
        parts = [status.get("connector", {}), *status.get("tasks", [])]
        return " ".join(part["trace"] for part in parts if part.get("state") == "FAILED")

    trace = wait_for(failed, 60, f"{connector} fails", by=attacked.worker)
    assert "allowed.paths" in trace, trace
    assert SENTINEL not in trace
    attacked.untouched()
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20).topics
    assert not [topic for topic in topics if topic.startswith("stolen") or SENTINEL in topic]
    attacked.worker.call("DELETE", connector)


def test_one_put_to_validate_runs_nothing_that_a_catalogue_chooses(attacked: Attacked) -> None:
    canary = attacked.inside / "ran"
    shell = {"type": "custom", "impl": "subprocess.Popen", "custom": {"args": ["touch", str(canary)]}}
    with served(HostileCatalog(config={"overrides": {"auth": shell}})) as catalog:
        config = S3 | {
            "name": "a", "s3.bucket.name": "lake", "table.format": "iceberg", "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": catalog.url, "store.url": "http://127.0.0.1:9", "s3.part.retries": "0",
        }  # fmt: skip
        # A dry run asks the outside world, as creation does.
        for path in ("config/validate", "config/validate?dry_run=true"):
            requests.put(f"{attacked.worker.url}/connector-plugins/S3Sink/{path}", json=config, timeout=90)
        attacked.worker.create("lake", config)
        wait_for(lambda: catalog.asked, 60, "the catalogue is asked")
    assert not canary.exists()
    attacked.worker.call("DELETE", "lake")
