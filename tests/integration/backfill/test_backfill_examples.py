"""Runs the examples of configs/backfill with only names changed; each row that they read is in their target once."""

from __future__ import annotations

import io
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from string import Template

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backfill_job import OneAfterTheOther, messages
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from replay_job import Bucket

from connect.backfill.driver import Driver
from connect.backfill.job.spec_file import read_spec
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.client.manifests import read_manifests
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint, S3Endpoint

EXAMPLES = Path(__file__).parents[3] / "configs" / "backfill"
JSON = "org.apache.kafka.connect.json.JsonConverter"
IDS = range(1, 301)
SCHEMA = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int64", "optional": False}]}


def fill_topic(kafka: KafkaEndpoint, name: str, _folder: Path) -> None:
    brokers = {"bootstrap.servers": kafka.bootstrap_servers}
    admin = AdminClient(brokers)
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    producer = Producer(brokers)
    for n in IDS:
        producer.produce(name, json.dumps({"schema": SCHEMA, "payload": {"id": n}}))
    assert producer.flush(60) == 0


def fill_table(_kafka: KafkaEndpoint, name: str, folder: Path) -> None:
    with sqlite3.connect(folder / "database") as database:
        database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany(f"INSERT INTO {name} VALUES (?, 'x')", [(n,) for n in IDS])


def fill_folder(_kafka: KafkaEndpoint, _name: str, folder: Path) -> None:
    pq.write_table(pa.table({"id": list(IDS)}), folder / "rows.parquet", row_group_size=100)


@pytest.mark.parametrize(
    ("file", "fill"), [("replay.yaml", fill_topic), ("copy.yaml", fill_table), ("files.yaml", fill_folder)]
)
def test_an_example_moves_every_row_once(
    kafka: KafkaEndpoint, s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path,
    file: str, fill: Callable[[KafkaEndpoint, str, Path], None],
):  # fmt: skip
    rows = tmp_path / "rows"
    rows.mkdir()
    values = {
        "S3_BUCKET": s3_bucket, "S3_URL": s3.url, "S3_ACCESS_KEY_ID": s3.access_key_id,
        "S3_SECRET_ACCESS_KEY": s3.secret_access_key, "FOLDER": str(rows),
        "DATABASE_URL": f"sqlite:///{rows / 'database'}",
    }  # fmt: skip
    for example in EXAMPLES.iterdir():
        text = example.read_text(encoding="utf-8").replace("flights", unique)
        (tmp_path / example.name.replace("flights", unique)).write_text(Template(text).safe_substitute(values))
    fill(kafka, unique, rows)
    spec = read_spec(tmp_path / file)
    configs = {
        name: {**manifest.config, "topics.dir": unique}
        for name in filter(None, (spec.source.connector, spec.target.connector))
        for manifest in read_manifests([tmp_path / f"{name}.json"])
    }
    named = [configs[name] for name in (spec.source.connector, spec.target.connector) if name]
    with Driver(spec, WorkerConfig.parse(worker(kafka, unique, rows)), *named) as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
        assert verify(driver).is_good
    if spec.kind == "source":
        found = [json.loads(message.value())["payload"]["id"] for message in messages(kafka, unique)]
    else:
        bucket = Bucket(s3, s3_bucket, unique)
        keys = bucket.keys()
        found = [n for key in keys for n in pq.read_table(io.BytesIO(bucket.body(key)))["id"].to_pylist()]
    assert Counter(found) == Counter(IDS)


def worker(kafka: KafkaEndpoint, name: str, allowed: Path) -> dict[str, str]:
    return {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "key.converter": JSON, "value.converter": JSON,
        "config.storage.topic": f"{name}-configs", "offset.storage.topic": f"{name}-offsets",
        "status.storage.topic": f"{name}-status", "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
        "allowed.paths": str(allowed),
    }  # fmt: skip
