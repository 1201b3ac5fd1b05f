"""Lets one of three nodes, which all have every row, die while a table is read: no row is lost or comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel, InvalidRequest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import connected, three_nodes
from e2e_worker import WorkerProcess, wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint
from connect.tools.services.cassandra import CassandraService

pytestmark = pytest.mark.chaos
ROWS = 600
LEVELS = ("LOCAL_QUORUM", "ALL")
WITHOUT = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[CassandraService]]:
    """Three nodes of one cluster."""
    with three_nodes() as nodes:
        yield nodes


def fill(first: CassandraService, keyspace: str) -> dict[str, str]:
    """A table with its rows on all three nodes; the settings by which connectors reach them."""
    with connected(first) as node:
        # Nodes on few cores take their time to hear of a keyspace.
        node.session.cluster.max_schema_agreement_wait = 120
        rows = [(k,) for k in range(ROWS)]

        def written() -> bool:
            try:
                node.run(
                    f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = "
                    "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
                    f"CREATE TABLE IF NOT EXISTS {keyspace}.t (k int PRIMARY KEY)",
                )
                insert = node.session.prepare(f"INSERT INTO {keyspace}.t (k) VALUES (?)")
            except InvalidRequest:
                return False  # asked of a node that has not heard of the keyspace yet
            insert.consistency_level = ConsistencyLevel.ALL
            done = execute_concurrent_with_args(node.session, insert, rows, raise_on_first_error=False)
            return all(result.success for result in done)

        wait_for(written, 120, "the rows on all nodes")
        return node.contact


def test_a_node_that_dies_while_a_table_is_read_costs_no_row_and_no_task(
    cluster: list[CassandraService], kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    contact = fill(cluster[0], unique)
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, unique, **WITHOUT, **{"exactly.once.source.support": "enabled"}
    )
    worker.start()
    states: set[str] = set()
    reasons: dict[str, set[str]] = {level: set() for level in LEVELS}

    def keys(level: str) -> list[int]:
        for task in worker.status(level).get("tasks", []):
            states.add(task["state"])
            reasons[level].add(task.get("reason", ""))
        return sorted(record.value["k"] for record in json_records(kafka, f"{level}.{unique}.t"))

    def whole(level: str) -> Any:
        return len(found) >= ROWS and found if (found := keys(level)) else None

    try:
        for level in LEVELS:
            config = {
                **contact, "connector.class": "connect.cassandra.CassandraSourceConnector", "tasks.max": "2",
                "keyspace": unique, "topic.prefix": f"{level}.", "consistency.level": level, "table.splits": "12",
                "fetch.size": "10", "max.rows.per.second": "20", "exactly.once.support": "required",
            }  # fmt: skip
            assert worker.create(level, config).status_code == 201
            worker.wait_for_tasks(level, "RUNNING")
        wait_for(lambda: all(len(keys(level)) >= 50 for level in LEVELS), 60, "rows before the node dies")
        states.clear()
        cluster[1].kill()
        assert all(len(keys(level)) < ROWS for level in LEVELS), "the node died too late to be missed"

        assert wait_for(lambda: whole("LOCAL_QUORUM"), 90, "all rows while a node is down") == list(range(ROWS))
        assert not cluster[1].running
        # A read that needs all replicas waits for the node, and says so.
        wait_for(lambda: keys("ALL") and any("ALL" in said for said in reasons["ALL"]), 60, "why the other one waits")
        assert len(keys("ALL")) < ROWS
        cluster[1].start()
        assert wait_for(lambda: whole("ALL"), 120, "all rows once the node is back") == list(range(ROWS))
        assert states == {"RUNNING"}
    finally:
        worker.stop()
