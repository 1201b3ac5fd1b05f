"""Kills the agent, which writes in transactions, again and again while tables change: each change comes once, none is
lost.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_agent import AgentProcess
from cassandra_node import Node
from e2e_worker import wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint

TABLES = 6
KILLS = 8


class Writer:
    """Inserts rows with numbers of their own into all tables until it is told to end."""

    def __init__(self, node: Node) -> None:
        self._session = node.session
        self._inserts = [node.session.prepare(f"INSERT INTO t{i} (k, v) VALUES (?, ?)") for i in range(TABLES)]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.written = 0

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join(60)

    def _write(self) -> None:
        while not self._ending.wait(0.01):
            rows = [(k, "v" * 50) for k in range(self.written, self.written + 50)]
            for insert in self._inserts:
                execute_concurrent_with_args(self._session, insert, rows)
            self.written += len(rows)


@pytest.mark.chaos
def test_each_change_is_there_once_after_eight_kills(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, draw = cassandra_node, random.Random(8)
    node.keyspace(unique)
    node.run(*(f"CREATE TABLE t{i} (k int PRIMARY KEY, v text) WITH cdc = true" for i in range(TABLES)))
    agent = AgentProcess(tmp_path, kafka, node, unique, in_transactions=True, tables=f"{unique}.*")
    topics = [f"{unique}.{unique}.t{i}" for i in range(TABLES)]
    writer = Writer(node)
    agent.start()
    writer.start()
    try:
        for _ in range(KILLS):
            seen = len(json_records(kafka, topics[-1]))
            wait_for(lambda seen=seen: len(json_records(kafka, topics[-1])) > seen, 60, "more rows", by=agent)
            threading.Event().wait(draw.uniform(0, 1))
            agent.kill()
            agent.start()
    finally:
        writer.end()
    try:
        for topic in topics:
            wait_for(
                lambda topic=topic: len({r.key["k"] for r in json_records(kafka, topic)}) == writer.written,
                120,
                f"all rows of {topic}",
                by=agent,
            )
    finally:
        assert agent.stop() == 0, agent.log_tail()
    twice = {
        topic: sum(count - 1 for count in Counter(r.value["event_id"] for r in json_records(kafka, topic)).values())
        for topic in topics
    }
    print(f"{writer.written} rows in each of {TABLES} tables; twice: {sum(twice.values())}", flush=True)  # noqa: T201
    assert writer.written > 2000
    assert not any(twice.values()), twice
