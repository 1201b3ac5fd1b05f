"""Joins small objects of a real S3 store by `connect compact`: by the command itself, and by tasks of Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from s3_sink_driver import Objects, batch, open_task, properties, soon

from connect.api import schema as s
from connect.api.records import TopicPartition
from connect.tools.services import S3Endpoint

pytestmark = pytest.mark.integration

ROW = s.struct({"n": s.INT64, "country": s.STRING})


@pytest.fixture
def objects(s3: S3Endpoint, s3_bucket: str, unique: str) -> Objects:
    return Objects(s3, s3_bucket, unique)


def write(given: dict[str, str], tp: TopicPartition, start: int, stop: int) -> None:
    task = open_task(given)
    rows = [{"n": n, "country": ("DE", "FR")[n % 2]} for n in range(start, stop)]
    task.put(batch(tp, rows, start, ROW), soon())
    assert task.flush(soon()) == {tp: stop}
    task.close()


@pytest.mark.parametrize(
    "where", [pytest.param([], id="here"), pytest.param(["--spark", "local[2,4]"], id="Spark", marks=pytest.mark.chaos)]
)
def test_objects_are_joined_and_the_sink_goes_on(objects: Objects, unique: str, tmp_path: Path, where: list[str]):
    tp = TopicPartition(f"orders-{unique}", 2)
    given = properties(
        objects.endpoint, objects.bucket, objects.prefix, flush_size="5", partition_field_name="country",
        partitioner_class="io.confluent.connect.storage.partitioner.FieldPartitioner",
    )  # fmt: skip
    write(given, tp, 0, 100)
    assert len(objects.names()) == 20
    file = tmp_path / "sink.json"
    own = {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": tp.topic}
    secrets = tmp_path / "s3.properties"
    secrets.write_text(f"secret={given['aws.secret.access.key']}\n")
    own["aws.secret.access.key"] = f"${{file:{secrets}:secret}}"
    file.write_text(json.dumps({"name": "lake", "config": {**given, **own}}))
    argv = [sys.executable, "-m", "connect.cli", "compact", str(file), "--min-age-hours", "0", *where]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done
    assert done.stdout.count("9 files of 0.0 MiB became 1, with 45 rows") == 2
    assert len(objects.names()) == 4
    joined = objects.names()[0]
    assert joined.endswith("+0000000000-0000000089.snappy.parquet")
    assert objects.metadata(joined)["kconnect-joined-objects"] == "9"
    write(given, tp, 0, 120)
    assert sorted(objects.column("n")) == list(range(120))
