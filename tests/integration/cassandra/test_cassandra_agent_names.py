"""Runs two agents where there should be one: they say so, and do not hinder each other for ever."""

from __future__ import annotations

from pathlib import Path

from cassandra_agent import AgentProcess
from cassandra_node import Node
from e2e_worker import wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_second_agent_beside_a_node_waits_for_the_end_of_the_first(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY) WITH cdc = true", "INSERT INTO t (k) VALUES (1)")
    first, second = (
        AgentProcess(folder(tmp_path / name), kafka, node, f"{unique}{name}", tables=f"{unique}.t") for name in "ab"
    )

    def keys(name: str) -> list[int]:
        return [record.key["k"] for record in json_records(kafka, f"{unique}{name}.{unique}.t")]

    first.start()
    try:
        wait_for(lambda: keys("a") == [1], 60, "the first agent's row", by=first)
        second.start()
        said = f"Another agent reads {node.endpoint.cdc_raw_folder}"
        wait_for(lambda: said in second.log_path.read_text(), 60, "the second agent names the first", by=second)
        assert keys("b") == []
        first.kill()
        wait_for(lambda: keys("b") == [1], 60, "the second agent's row", by=second)
    finally:
        assert second.stop() == 0, second.log_tail()
    assert keys("a") == [1]


def test_of_two_agents_of_one_name_the_first_ends_and_names_the_other(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY) WITH cdc = true", "INSERT INTO t (k) VALUES (1)")
    # As on another node: with a folder of its own.
    elsewhere = folder(tmp_path / "cdc_raw")
    first = AgentProcess(folder(tmp_path / "a"), kafka, node, unique, in_transactions=True, tables=f"{unique}.t")
    second = AgentProcess(
        folder(tmp_path / "b"), kafka, node, unique, in_transactions=True, tables=f"{unique}.t",
        **{"cdc.raw.folder": str(elsewhere)},
    )  # fmt: skip
    topic = f"{unique}.{unique}.t"
    first.start()
    try:
        wait_for(lambda: len(json_records(kafka, topic)) == 1, 60, "the first agent's row", by=first)
        second.start()
        said = f"Another agent has taken the name {unique}: host "

        def goes_on() -> bool:
            node.run("INSERT INTO t (k) VALUES (2)")
            return said in first.log_path.read_text()

        wait_for(goes_on, 60, "the first agent names the other", by=first)
        assert first.wait() == 1, first.log_tail()
        assert "Give each agent a name of its own" in first.log_path.read_text()
        assert said not in second.log_path.read_text()
    finally:
        assert second.stop() == 0, second.log_tail()
