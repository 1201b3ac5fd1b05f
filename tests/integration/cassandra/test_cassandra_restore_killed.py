"""`connect cassandra restore` is killed under way and run again: every row is in its topic once, by either engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import Node
from e2e_worker import wait_for
from test_cassandra_bulk import worker_properties
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.chaos
ROWS, RANGES = 3000, 40


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_restore_that_was_killed_goes_on_where_it_was(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str, engine: str
) -> None:
    node, topic = cassandra_node, f"{unique}.{unique}.t"
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE TABLE other (k int PRIMARY KEY)")
    insert = node.session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    execute_concurrent_with_args(node.session, insert, [(k, f"v{k}") for k in range(ROWS)])
    # Pages of two rows, so that it is killed before it is done.
    slow = {"table.splits": str(RANGES), "fetch.size": "2"}
    source, worker = tmp_path / "source.json", tmp_path / "worker.properties"
    source.write_text(json.dumps({"name": "x", "config": {**node.contact, **slow}}))
    worker.write_text("".join(f"{key}={value}\n" for key, value in worker_properties(kafka, unique).items()))
    command = [
        sys.executable, "-m", "connect.cli", "cassandra", "restore", str(source), "--worker", str(worker),
        "--keyspace", unique, "--tables", "t", "--topic-prefix", f"{unique}.", "--engine", engine, "--lanes", "2",
    ]  # fmt: skip
    log = (tmp_path / "log").open("w")
    # With all processes that it starts in a group of its own.
    killed = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:

        def is_under_way() -> bool:
            assert killed.poll() is None, (tmp_path / "log").read_text()
            return bool(json_records(kafka, topic))

        wait_for(is_under_way, 120, "the first rows")
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(30)
    before = len(json_records(kafka, topic))
    assert 0 < before < ROWS
    again = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{RANGES} ranges" in again.stdout
    assert "good, as far as it was compared: 0 missing, 0 twice" in again.stdout
    found = Counter((record.value["k"], record.value["v"]) for record in json_records(kafka, topic))
    assert found == Counter((k, f"v{k}") for k in range(ROWS))
    assert json_records(kafka, f"{unique}.{unique}.other") == []
