"""Checks commit logs of each compression, as nodes write them: what the agent sends of them is the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_agent import AgentProcess
from cassandra_node import connected
from e2e_worker import wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint
from connect.tools.services.cassandra import CASSANDRA_VERSION, OLD_VERSION, CassandraService

pytestmark = pytest.mark.chaos
VERSION_8 = {"storage_compatibility_mode": "NONE"}


@pytest.mark.parametrize(
    ("version", "compressor", "settings"),
    [
        (CASSANDRA_VERSION, "SnappyCompressor", VERSION_8),
        (CASSANDRA_VERSION, "ZstdCompressor", VERSION_8),
        (CASSANDRA_VERSION, "DeflateCompressor", {}),
        (OLD_VERSION, "LZ4Compressor", {}),
        (OLD_VERSION, "ZstdCompressor", {}),
    ],
)
def test_the_agent_reads_what_a_node_compresses(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str, version: str, compressor: str, settings: dict[str, object]
) -> None:
    compressed = {**settings, "commitlog_compression": [{"class_name": compressor}]}
    rows = {k: f"{k}" * (k % 900) for k in range(3000)}
    with CassandraService(version=version, settings=compressed) as service, connected(service) as node:
        node.keyspace(unique)
        node.run("CREATE TABLE t (k int PRIMARY KEY, v text) WITH cdc = true")
        insert = node.session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        execute_concurrent_with_args(node.session, insert, list(rows.items()))
        logs = list(service.endpoint.cdc_raw_folder.glob("*.log"))
        assert any(compressor.encode() in log.read_bytes()[:200] for log in logs), "the node does compress"
        agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.t")
        agent.start()
        try:
            topic = f"{unique}.{unique}.t"
            wait_for(
                lambda: len({r.key["k"] for r in json_records(kafka, topic)}) == len(rows), 60, "all rows", by=agent
            )
        finally:
            assert agent.stop() == 0, agent.log_tail()
        found = {record.key["k"]: record.value["columns"]["v"]["value"] for record in json_records(kafka, topic)}
        assert found == rows
