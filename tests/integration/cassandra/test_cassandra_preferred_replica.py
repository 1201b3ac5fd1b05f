"""Checks on three nodes with one copy of each row that every range is asked of the node that has it, which asks no
other one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cassandra_node import Node, connected, three_nodes
from e2e_worker import wait_for
from test_cassandra_source import batches

from connect.testing.fakes import OffsetStore
from connect.tools.services.cassandra import CassandraService
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

pytestmark = pytest.mark.chaos
ROWS = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[CassandraService]]:
    """Three nodes of one cluster."""
    with three_nodes() as nodes:
        yield nodes


def traced_reads(node: Node, keyspace: str) -> dict[str, set[str]]:
    """By the node that was asked for ranges: the nodes that worked on them. Empty until all traces are whole."""
    found: dict[str, set[str]] = {}
    for session in node.session.execute(
        "SELECT session_id, coordinator, parameters, duration FROM system_traces.sessions"
    ):
        query = (session["parameters"] or {}).get("query", "")
        if f'"{keyspace}"."t"' not in query or "token(" not in query.partition("WHERE")[2]:
            continue
        if session["duration"] is None:
            return {}
        events = node.session.execute(
            "SELECT source FROM system_traces.events WHERE session_id = %s", [session["session_id"]]
        )
        found.setdefault(session["coordinator"], set()).update(event["source"] for event in events)
    return found


def test_a_range_is_read_from_the_node_that_has_it(cluster: list[CassandraService], unique: str) -> None:
    with connected(cluster[0]) as node:
        node.session.cluster.max_schema_agreement_wait = 120
        node.keyspace(unique)
        node.run("CREATE TABLE t (k int PRIMARY KEY)", *(f"INSERT INTO t (k) VALUES ({k})" for k in range(ROWS)))
        assert sorted(row["k"] for row in node.session.execute("SELECT k FROM t")) == list(range(ROWS))
        for service in cluster:
            service.nodetool("settraceprobability", "1")
        given = {
            **node.contact, "keyspace": unique, "table.splits": "5", "local.datacenter": "datacenter1",
            # Another node is asked for a page that is late: none is.
            "read.timeout.ms": "600000",
        }  # fmt: skip
        source = CassandraSourceConnector(CassandraSourceConfig.parse(given))
        (task,) = (source.task(share) for share in source.task_configs(1))
        rows = [row["k"] for batch in batches(task, OffsetStore()) for row in batch.values.rows()]
        for service in cluster:
            service.nodetool("settraceprobability", "0")
        assert sorted(rows) == list(range(ROWS))
        reads = wait_for(
            lambda: found if len(found := traced_reads(node, unique)) == len(cluster) else None,
            60,
            "traces of all nodes",
        )
    assert reads == {asked: {asked} for asked in reads}, reads
