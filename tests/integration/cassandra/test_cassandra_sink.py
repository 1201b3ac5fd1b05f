"""Writes rows into tables: from topics by a worker, and a whole table into one of another schema, killed under way."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import Node
from cassandra_tables import EVERY_TYPE, fill
from confluent_kafka import Producer
from e2e_worker import WorkerProcess, wait_for
from test_cassandra_bulk import worker_properties
from topic_reading import json_records

from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint

SOURCE, SINK = "connect.cassandra.CassandraSourceConnector", "connect.cassandra.CassandraSinkConnector"
WITHOUT = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}


@dataclass(frozen=True)
class KilledAtEachStep:
    """Runs a lane in its process, and kills that the first time it comes to each step."""

    notes: Path

    def __call__(self, task: LaneTask) -> LaneReport:
        def on_step(step: Step, _chunk: str) -> None:
            note = self.notes / step.name
            if not note.exists():
                note.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        return run_lane(task, on_step)


def copy(kafka: KafkaEndpoint, node: Node, name: str, source: dict[str, str], sink: dict[str, str]) -> Driver:
    spec = {
        "apiVersion": "backfill/v1", "name": name, "kind": "copy", "source": {"connector": f"{name}-source"},
        "target": {"connector": f"{name}-sink"}, "engine": {"type": "local"}, "chunking": {"lanes": 2, "rows": 200},
    }  # fmt: skip
    given = {"connector.class": SOURCE, "name": f"{name}-source", **node.contact, "table.splits": "4", **source}
    taken = {"connector.class": SINK, "name": f"{name}-sink", **node.contact, "chunk.column": "chunk", **sink}
    worker = WorkerConfig.parse(worker_properties(kafka, name))
    return Driver(BackfillSpec.model_validate(spec), worker, given, {"topics": "unused", **taken})


def test_a_table_moves_into_one_of_another_schema(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, target = cassandra_node, f"{unique}_new"
    node.keyspace(target)
    node.run("CREATE TABLE people (city text, id int, full_name text, chunk text, PRIMARY KEY (city, id))")
    node.keyspace(unique)
    node.run("CREATE TABLE users (id int PRIMARY KEY, name text, city text, old text)")
    insert = node.session.prepare("INSERT INTO users (id, name, city, old) VALUES (?, ?, ?, 'x')")
    rows = [(i, f"name {i}", f"city {i % 7}") for i in range(2000)]
    execute_concurrent_with_args(node.session, insert, rows)
    source = {
        "keyspace": unique, "tables": "users", "transforms": "rename",
        "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.rename.exclude": "old", "transforms.rename.renames": "name:full_name",
    }  # fmt: skip
    sink = {
        "keyspace": target, "topic.tables": f"{unique}.users:people", "transforms": "sql",
        "transforms.sql.type": "connect.transforms.Sql$Value", "transforms.sql.select": "*",
        "transforms.sql.where": "id < 1900",
    }  # fmt: skip
    kills = KilledAtEachStep(tmp_path)
    with copy(kafka, node, unique, source, sink) as driver:
        assert driver.run(LocalEngine(2, 8, kills)).state is JobState.COPIED
        assert (tmp_path / "ROWS_SENT").exists()
        verdict = verify(driver)
        assert verdict.is_good, list(verdict.lines())
        found = {(row["id"], row["full_name"], row["city"]) for row in node.json_rows(f"SELECT * FROM {target}.people")}
        assert found == set(rows[:1900])
        node.run(f"DELETE FROM {target}.people WHERE city = 'city 3' AND id = 3")
        lost = verify(driver)
        assert (lost.is_good, lost.missing) == (False, 1), "a row that is not in the target is missed"


def test_every_type_arrives_as_it_was(cassandra_node: Node, kafka: KafkaEndpoint, unique: str) -> None:
    node, target = cassandra_node, f"{unique}_new"
    for keyspace in (target, unique):
        node.keyspace(keyspace)
        node.run(*EVERY_TYPE)
    fill(node)
    node.run(f"ALTER TABLE {target}.orders ADD chunk text")
    with copy(kafka, node, unique, {"keyspace": unique, "tables": "orders"}, {"keyspace": target}) as driver:
        assert driver.run(LocalEngine(1, 2)).state is JobState.COPIED
        verdict = verify(driver)
        assert verdict.is_good, list(verdict.lines())
    expected = node.json_rows(f"SELECT * FROM {unique}.orders")
    found = node.json_rows(f"SELECT * FROM {target}.orders")
    assert len(expected) > 10

    def rows(given: list[Any]) -> list[dict[str, Any]]:
        return sorted(({k: v for k, v in row.items() if k != "chunk"} for row in given), key=json.dumps)

    assert rows(list(found)) == rows(list(expected))


def test_each_keys_last_record_stays_though_chunks_have_older_ones(
    cassandra_node: Node, kafka: KafkaEndpoint, unique: str
) -> None:
    node, topic = cassandra_node, f"{unique}.t"
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v int, chunk text)")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for version in range(8):
        # A chunk's last records are of the keys with which the next chunk begins.
        for k in range(200) if version % 2 else range(199, -1, -1):
            is_gone = version == 7 and k % 3 == 0
            value = None if is_gone else json.dumps({"k": k, "v": version})
            producer.produce(topic, value, json.dumps({"k": k}), partition=0)
    assert producer.flush(20) == 0
    spec = {
        "apiVersion": "backfill/v1", "name": unique, "kind": "sink", "target": {"connector": "sink"},
        "engine": {"type": "local"}, "chunking": {"lanes": 2, "rows": 200},
    }  # fmt: skip
    config = {"connector.class": SINK, **node.contact, "keyspace": unique, "topics": topic, "chunk.column": "chunk"}
    worker = WorkerConfig.parse(worker_properties(kafka, unique))
    with Driver(BackfillSpec.model_validate(spec), worker, config) as driver:
        assert driver.run(LocalEngine(2, 2)).state is JobState.COPIED
    found = {row["k"]: row["v"] for row in node.json_rows("SELECT k, v FROM t")}
    assert found == {k: 7 for k in range(200) if k % 3}


def test_records_are_rows_tombstones_deletes_and_bad_ones_letters(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, topic = cassandra_node, f"{unique}.t"
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v text, at timestamp, tags set<text>)")
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, f"{unique}-w", **WITHOUT)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    def send(k: int, value: dict[str, Any] | None) -> None:
        producer.produce(topic, None if value is None else json.dumps(value), json.dumps({"k": k}))

    for k in range(100):
        send(k, {"k": k, "v": f"old {k}", "tags": ["b", "a"]})
    for k in range(0, 100, 2):
        send(k, {"k": k, "v": f"new {k}", "at": 1500})
    for k in range(0, 100, 10):
        send(k, None)
    send(7, {"k": 7, "v": 5})
    send(8, {"k": 8, "unknown": 5})
    producer.flush(20)
    worker.start()
    try:
        config = {
            "connector.class": SINK, **node.contact, "topics": topic, "keyspace": unique, "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{unique}-dlq",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }  # fmt: skip
        assert worker.create("sink", config).status_code == 201
        odd = {k: {"k": k, "v": f"old {k}", "at": None, "tags": ["a", "b"]} for k in range(1, 100, 2)}
        even = {k: {"k": k, "v": f"new {k}", "at": "1970-01-01 00:00:01.500Z", "tags": None} for k in range(0, 100, 2)}
        expected = {k: row for k, row in {**odd, **even}.items() if k % 10}

        def rows() -> dict[int, Any]:
            return {row["k"]: {**row, "tags": row["tags"] or None} for row in node.json_rows("SELECT * FROM t")}

        wait_for(lambda: rows() == expected, 60, "the rows", by=worker)
        letters = f"{unique}-dlq"
        wait_for(lambda: len(json_records(kafka, letters)) == 2, 60, "both letters")
        assert {letter.key["k"] for letter in json_records(kafka, letters)} == {7, 8}
    finally:
        worker.stop()
