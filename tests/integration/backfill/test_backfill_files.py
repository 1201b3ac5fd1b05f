"""Reads Parquet, CSV and JSON files from a folder and from S3 into Kafka; killed at each step, a job writes each row
once.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backfill_job import KillEachStepOnce, messages
from botocore.config import Config

from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint, S3Endpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"
FILES, ROWS = 2, 1000


def body(kind: str, ids: range) -> bytes:
    if kind == "csv":
        return b"id,name\n" + "".join(f'{n},"naïve, {n}"\n' for n in ids).encode()
    if kind == "json":
        return "".join(f'{{"id": {n}, "name": "naïve {n}"}}\n' for n in ids).encode()
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": list(ids), "name": [f"naïve {n}" for n in ids]}), sink, row_group_size=300)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("parquet", "s3"),
        pytest.param("csv", "folder", marks=pytest.mark.chaos),
        pytest.param("json", "s3", marks=pytest.mark.chaos),
    ],
)
def test_rows_of_files_are_in_their_topic_once_wherever_a_lane_was_killed(
    kafka: KafkaEndpoint, s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path, kind: str, where: str
):
    kills = tmp_path / "kills"
    kills.mkdir()
    source = {
        "connector.class": "connect.file.DataFilesSourceConnector", "format": kind, "topic": f"{unique}-rows",
        "csv.types": "id:int64", "value.converter": JSON, "value.converter.schemas.enable": "false",
        "topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1",
    }  # fmt: skip
    bodies = {f"{n}.{kind}": body(kind, range(n * ROWS, (n + 1) * ROWS)) for n in range(FILES)}
    if where == "s3":
        put(s3, s3_bucket, unique, bodies)
        source |= {
            "folder": f"s3://{s3_bucket}/{unique}", "s3.region": s3.region, "store.url": s3.url,
            "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
        }  # fmt: skip
    else:
        folder = tmp_path / "files"
        folder.mkdir()
        for name, data in bodies.items():
            (folder / name).write_bytes(data)
        source["folder"] = str(folder)
    killing = KillEachStepOnce(kills)
    with job(kafka, unique, source) as driver:
        assert driver.run(LocalEngine(2, 8, killing)).state is JobState.COPIED
        assert killing.killed_at == {step.name for step in Step}
        verdict = verify(driver)
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    assert len(verdict.chunks) >= 6
    found = [json.loads(message.value())["id"] for message in messages(kafka, f"{unique}-rows")]
    assert Counter(found) == Counter(range(FILES * ROWS))


def job(kafka: KafkaEndpoint, name: str, source: dict[str, str]) -> Driver:
    given: dict[str, Any] = {
        "apiVersion": "backfill/v1", "name": name, "source": {"connector": name},
        "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 300, "lanes": 2},
        "state": {"jobs_topic": f"{name}-jobs"},
    }  # fmt: skip
    worker = {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "key.converter": JSON, "value.converter": JSON,
        "config.storage.topic": f"{name}-configs", "offset.storage.topic": f"{name}-offsets",
        "status.storage.topic": f"{name}-status", "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
    }  # fmt: skip
    return Driver(BackfillSpec.model_validate(given), WorkerConfig.parse(worker), source)


def put(s3: S3Endpoint, bucket: str, prefix: str, bodies: dict[str, bytes]) -> None:
    client = boto3.client(
        "s3", endpoint_url=s3.url, aws_access_key_id=s3.access_key_id, aws_secret_access_key=s3.secret_access_key,
        region_name=s3.region, config=Config(s3={"addressing_style": "path"}),
    )  # fmt: skip
    for name, data in bodies.items():
        client.put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=data)
