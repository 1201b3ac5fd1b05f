"""Checks that the dashboard for BigQuery sinks asks for metrics that a worker with such sinks really gives."""

from __future__ import annotations

import json

import pytest
import requests
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from observability import BIGQUERY, metrics_in, samples_of

JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def worker(kafka, tmp_path, unique):
    process = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    process.start()
    yield process
    process.stop()


def test_every_query_names_metrics_that_a_worker_with_such_sinks_has(worker, kafka, dataset, unique):
    topic = f"{unique}-orders"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(100):
        producer.produce(topic, key=json.dumps({"id": number % 40}), value=json.dumps({"id": number % 40, "n": number}))
    assert producer.flush(30) == 0
    common = {
        "topics": topic, "autoCreateTables": "true", "timePartitioningType": "NONE", "key.converter": JSON,
        "value.converter": JSON, "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false",
        "bigquery.budget.bytes.per.day": str(1 << 40), "consumer.override.auto.offset.reset": "earliest",
    }  # fmt: skip
    into = {mode: f"{topic}-{mode}" for mode in ("merge", "compact")}
    for mode, name in into.items():
        settings = dataset.settings(dedup__mode=mode, dedup__compact__interval__ms="0")
        routed = {
            "transforms": "route", "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": ".*", "transforms.route.replacement": name,
        }  # fmt: skip
        assert worker.create(name, {**common, **settings, **routed}).status_code == 201
    wanted = metrics_in(BIGQUERY.read_text())
    assert len(wanted) > 15, "the queries were read"

    def missing() -> set[str]:
        return wanted - samples_of(requests.get(f"{worker.url}/metrics", timeout=30).text)

    # The compaction's metric comes last, behind some ten jobs of the emulator: 27 s, and minutes on a busy machine.
    wait_for(lambda: not missing(), 300, lambda: f"the metrics {missing()}", by=worker)
