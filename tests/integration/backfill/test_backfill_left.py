"""Checks that the next worker pauses or ends a backfill whose run died before it could do so."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Producer

from connect.backfill.child import BackfillChildren
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import JobSignal
from connect.backfill.service import BackfillService
from connect.runtime.settings.internal_topics import JOBS_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def service(kafka: KafkaEndpoint, unique: str) -> Iterator[BackfillService]:
    keys = {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": unique, "key.converter": JSON,
        "value.converter": JSON, "config.storage.topic": f"{unique}-c", "offset.storage.topic": f"{unique}-o",
        "status.storage.topic": f"{unique}-s", "offset.storage.replication.factor": "1",
    }  # fmt: skip
    made = BackfillService(WorkerConfig.parse(keys), BackfillChildren(keys, f"{unique}:1"))
    with closing(made):
        yield made


@pytest.mark.parametrize(("signal", "state"), [(Signal.PAUSE, "PAUSED"), (Signal.CANCEL, "CANCELLED")])
def test_what_a_run_did_not_live_to_do_is_done(
    kafka: KafkaEndpoint, service: BackfillService, unique: str, signal: Signal, state: str
) -> None:
    now_ms = int(time.time() * 1000)
    job = {
        "spec": {"apiVersion": "backfill/v1", "name": unique, "source": {"connector": "none"}}, "state": "RUNNING",
        "run": "r", "chunks": 4, "rows": 1, "size_bytes": 1, "following": [], "statements": [], "warnings": [],
        "created_ms": now_ms, "updated_ms": now_ms, "worker": "gone:1", "group": unique,
    }  # fmt: skip
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    record = json.dumps({"job": unique}).encode(), json.dumps(job).encode()
    for key, value in (record, JobSignal(unique, signal).record):
        producer.produce(JOBS_TOPIC, value, key, partition=0)
    assert producer.flush(60) == 0

    assert service.adopt({f"{unique}:1"}, 30.0) == {}

    assert service.job(unique)["state"] == state
