"""Lets Kafka take nothing until the node refuses writes: the agent has said so before, and nothing is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cassandra import DriverException, RequestExecutionException
from cassandra_agent import AgentProcess
from cassandra_node import PATIENT, connected
from e2e_worker import wait_for
from topic_reading import json_records

from connect.tools.services import KafkaService
from connect.tools.services.cassandra import CassandraService

pytestmark = pytest.mark.chaos
TEXT = "x" * 20_000
MOST_ROWS = 3000


def test_a_folder_that_fills_up_is_said_before_the_node_refuses_writes(tmp_path: Path, unique: str) -> None:
    settings = {**PATIENT, "cdc_total_space": "16MiB"}
    with KafkaService() as broker, CassandraService(settings=settings) as service, connected(service) as node:
        node.keyspace(unique)
        node.run("CREATE TABLE t (k int PRIMARY KEY, v text) WITH cdc = true")
        insert = node.session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        agent = AgentProcess(tmp_path, broker.endpoint, node, unique, tables=f"{unique}.t")
        topic, written, pause = f"{unique}.{unique}.t", 0, threading.Event()

        def said(level: str) -> bool:
            lines = agent.log_path.read_text().splitlines()
            return any(level in line and "cdc_raw holds" in line for line in lines)

        def is_taken() -> bool:
            """The node takes one more row."""
            nonlocal written
            try:
                node.session.execute(insert, (written, TEXT))
            except (RequestExecutionException, DriverException):
                return False
            written += 1
            return True

        def write_until(level: str) -> None:
            while not said(level):
                assert written < MOST_ROWS
                assert is_taken(), f"refused before {level}: {agent.log_tail()}"
                # The folder is looked at once a second.
                pause.wait(0.01)

        agent.start()
        try:
            assert is_taken()
            wait_for(lambda: json_records(broker.endpoint, topic), 60, "the first row", by=agent)
            broker.kill()
            write_until("[warning")
            write_until("[error")
            while is_taken():
                assert written < MOST_ROWS
            broker.start()
            wait_for(is_taken, 120, "the node takes writes again", by=agent)
            keys = set(range(written))
            wait_for(
                lambda: {record.key["k"] for record in json_records(broker.endpoint, topic)} == keys,
                120,
                "every row that was taken",
                by=agent,
            )
        finally:
            assert agent.stop() == 0, agent.log_tail()
