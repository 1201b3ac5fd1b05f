"""A table read while it changes, through the connector that makes one event of copies: no gap, nothing twice."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from typing import Any

from cassandra_agent import AgentProcess
from cassandra_node import Changes, Node
from cassandra_state import TableState
from e2e_worker import WorkerProcess, wait_for
from test_cassandra_dedup_cluster import WITHOUT, comparable, state_of, statement, writes
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint


def test_what_was_read_and_what_changed_meanwhile_come_once_each(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, random_ = cassandra_node, random.Random(11)
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int, c int, s text static, v text, w text, tags set<text>, PRIMARY KEY (k, c))")
    node.run(*(statement(random_) for _ in range(300)))
    # Until here no change is in the log. From here on all are.
    node.run("ALTER TABLE t WITH cdc = true")
    raw, once = f"raw.{unique}.t", f"once.{unique}.t"
    (tmp_path / "agent").mkdir()
    agent = AgentProcess(tmp_path / "agent", kafka, node, unique, tables=f"{unique}.t", **{"topic.prefix": "raw."})
    exact = {"exactly.once.source.support": "enabled"}
    worker = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, f"{unique}-w", **WITHOUT, **exact)
    changes = Changes(node, (statement(random_) for _ in count()))
    agent.start()
    worker.start()
    changes.start()
    try:
        required = {"tasks.max": "1", "exactly.once.support": "required"}
        source = {
            **node.contact, **required, "connector.class": "connect.cassandra.CassandraSourceConnector",
            "keyspace": unique, "topic.prefix": "raw.", "output": "events", "table.splits": "8", "fetch.size": "5",
        }  # fmt: skip
        merged = {
            **required, "connector.class": "connect.cassandra.CassandraDedupConnector", "topics": raw,
            "input.prefix": "raw.", "topic.prefix": "once.", "merge.cells": "true",
        }  # fmt: skip
        for name, config in (("source", source), ("merged", merged)):
            assert worker.create(f"{unique}-{name}", config).status_code == 201

        def ops() -> set[str]:
            return {record.value["op"] for record in json_records(kafka, raw)}

        wait_for(lambda: {"snapshot", "update", "delete"} <= ops(), 60, "both in the topic", by=worker)
        changes.go_on(100)
        changes.end()
        key_of = TableState(["k"], ["c"], {}, set()).key_of
        expected = comparable({key_of(row): row for row in node.json_rows("SELECT * FROM t")})
        times = {
            column: {
                key_of(row): row[f"writetime({column})"]
                for row in node.json_rows(f"SELECT k, c, writetime({column}) FROM t")
                if row[f"writetime({column})"] is not None
            }
            for column in ("v", "w")
        }
        assert len(expected) > 10

        def rows() -> dict[str, dict[str, Any]]:
            return with_values(comparable(state_of(json_records(kafka, once)).rows()))

        wait_for(lambda: rows() == with_values(expected), 90, "the table's state", by=worker)
        records = json_records(kafka, once)
        assert {column: state_of(records).writetimes(column) for column in times} == times
        twice = {write: count for write, count in writes(records).items() if count > 1}
        assert not twice
        assert any(count > 1 for count in writes(json_records(kafka, raw)).values()), "nothing overlapped"
    finally:
        changes.end()
        worker.stop()
        assert agent.stop() == 0, agent.log_tail()


def with_values(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Whether a row without any value is there the server does not tell of those that were read."""
    return {key: row for key, row in rows.items() if any(row[name] is not None for name in ("v", "w", "tags"))}
