"""The connector that makes one event of its copies, on real Kafka, its worker killed under way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from cassandra_copies import Agents, event
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint, KafkaService

DEDUP = "connect.cassandra.CassandraDedupConnector"
PATIENCE_S = 180
"""A worker whose broker was killed joins its group anew and takes its transactional ids over, beside other tests."""
WITHOUT = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}


def make_topics(kafka: KafkaEndpoint, *names: str, partitions: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(20)


def check_once(
    kafka: KafkaEndpoint, folder: Path, unique: str, merge_cells: str, interrupt: Callable[[WorkerProcess], None]
) -> None:
    """Each change is in the output once, whatever `interrupt` does twice under way."""
    topic, output = f"raw.{unique}", f"once.{unique}"
    make_topics(kafka, topic, output)
    worker = WorkerProcess(
        folder, kafka.bootstrap_servers, f"{unique}-w", **WITHOUT, **{"exactly.once.source.support": "enabled"}
    )
    config = {
        "connector.class": DEDUP, "tasks.max": "2", "topics": topic, "input.prefix": "raw.", "topic.prefix": "once.",
        "merge.cells": merge_cells, "exactly.once.support": "required",
    }  # fmt: skip
    worker.start()
    try:
        assert worker.create(f"{unique}-dedup", config).status_code == 201
        with Agents(kafka.bootstrap_servers, topic) as agents:
            for _ in range(2):
                before = len(json_records(kafka, output))
                wait_for(lambda b=before: len(json_records(kafka, output)) > b + 300, PATIENCE_S, "more events")
                interrupt(worker)
        assert agents.rows > 600
        wait_for(lambda: len(json_records(kafka, output)) >= agents.rows, PATIENCE_S, "all events")
        records = json_records(kafka, output)
        found = Counter(record.value["event_id"] for record in records)
        assert set(found.values()) == {1}, "no change twice"
        assert set(found) == {event(number, "a")["event_id"] for number in range(agents.rows)}, "none is lost"
        assert all(record.key == {"k": record.value["key"]["k"]} for record in records)
        places: dict[str, set[int]] = {}
        for record in records:
            places.setdefault(json.dumps(record.key), set()).add(record.partition)
        assert all(len(partitions) == 1 for partitions in places.values())
    finally:
        worker.stop()


def kill_and_start(process: WorkerProcess | KafkaService) -> None:
    process.kill()
    process.start()


@pytest.mark.parametrize("merge_cells", ["true", pytest.param("false", marks=pytest.mark.chaos)])
def test_every_change_is_there_once_though_the_worker_is_killed(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str, merge_cells: str
) -> None:
    check_once(kafka, tmp_path, unique, merge_cells, kill_and_start)


@pytest.mark.chaos
@pytest.mark.parametrize("merge_cells", ["false", "true"])
def test_every_change_is_there_once_though_the_broker_is_killed(tmp_path: Path, unique: str, merge_cells: str) -> None:
    with KafkaService() as broker:
        check_once(broker.endpoint, tmp_path, unique, merge_cells, lambda _: kill_and_start(broker))


def test_a_worker_without_transactions_says_what_it_lacks(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> None:
    topic = f"raw.{unique}"
    make_topics(kafka, topic, partitions=1)
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, f"{unique}-w", **WITHOUT)
    worker.start()
    try:
        config = {"connector.class": DEDUP, "topics": topic, "input.prefix": "raw.", "topic.prefix": "once."}
        assert worker.create("dedup", config).status_code == 201
        status = worker.wait_for_tasks("dedup", "FAILED")
        assert "Set exactly.once.source.support=enabled for the worker" in status["tasks"][0]["trace"]
    finally:
        worker.stop()


def test_a_lone_broken_record_at_the_beginning_is_a_dead_letter(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    topic, output, letters = f"raw.{unique}", f"once.{unique}", f"letters.{unique}"
    make_topics(kafka, topic, output, partitions=1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b"{")
    assert producer.flush(30) == 0
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, f"{unique}-w", **WITHOUT, **{"exactly.once.source.support": "enabled"}
    )
    config = {
        "connector.class": DEDUP, "topics": topic, "input.prefix": "raw.", "topic.prefix": "once.",
        "exactly.once.support": "required", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    worker.start()
    try:
        assert worker.create(f"{unique}-dedup", config).status_code == 201
        wait_for(lambda: len(json_records(kafka, letters)) == 1, PATIENCE_S, f"a dead letter; {worker.log_tail()}")
        assert "can be read by value.converter" in worker.log_path.read_text()
        producer.produce(topic, json.dumps(event(1, "a")), json.dumps({"k": 1}))
        assert producer.flush(30) == 0
        wait_for(lambda: len(json_records(kafka, output)) == 1, PATIENCE_S, f"the event; {worker.log_tail()}")
        assert [task["state"] for task in worker.status(f"{unique}-dedup")["tasks"]] == ["RUNNING"]
    finally:
        worker.stop()
