"""Runs Datagen in a worker: rows come into Kafka as a public configuration asks for them, also after a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint


@pytest.fixture
def worker(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    made = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, unique)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def consumer(kafka: KafkaEndpoint, unique: str) -> Iterator[Consumer]:
    made = Consumer({
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{unique}-reader", "auto.offset.reset": "earliest",
    })  # fmt: skip
    yield made
    made.close()


def test_a_quick_start_makes_its_rows_and_goes_on_after_a_crash(
    worker: WorkerProcess, consumer: Consumer, unique: str
) -> None:
    config = {
        "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector", "kafka.topic": unique,
        "quickstart": "pageviews", "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
        "max.interval": "20", "iterations": "300", "tasks.max": "1", "random.seed": "1",
    }  # fmt: skip
    assert worker.create(unique, config).status_code == 201
    consumer.subscribe([unique])
    seen: dict[int, dict[str, object]] = {}

    def read(count: int) -> bool:
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                headers = dict(message.headers() or ())
                row = json.loads(message.value())
                iteration = int(headers["current.iteration"])
                assert seen.setdefault(iteration, row) == row, "a row that comes twice is the same"
                assert message.key() == str(row["viewtime"]).encode()
        return len(seen) >= count

    wait_for(lambda: read(100), 90, lambda: f"100 rows, now {len(seen)}", by=worker)
    worker.kill()
    worker.start()
    wait_for(lambda: read(300), 90, lambda: f"300 rows, now {len(seen)}", by=worker)
    assert sorted(seen) == list(range(300))
    assert [seen[n]["viewtime"] for n in range(300)] == [1 + 10 * n for n in range(300)]
