"""Checks that the agent passes over no change of a living table if schemas changed before it read the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cassandra_agent import AgentProcess
from cassandra_node import Node
from e2e_worker import wait_for
from topic_reading import json_records

from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

LIVING = ("a", "b")
GONE = ("gone", "longer_gone")


@pytest.fixture(params=["cassandra_node", "old_node"])
def node(request: pytest.FixtureRequest, unique: str) -> Iterator[Node]:
    node: Node = request.getfixturevalue(request.param)
    node.keyspace(unique)
    yield node
    node.run(f"DROP KEYSPACE {unique}")


def write(node: Node, numbers: range) -> None:
    """One mutation per number, with updates of all tables in an order that the number draws."""
    for number in numbers:
        tables = [*LIVING, *GONE]
        tables = [*tables[number % 4 :], *tables[: number % 4]]
        inserts = "".join(
            f"INSERT INTO {table} (k, c, v, tags) VALUES ({number}, {i}, 'v{number}', {{'x', 'y'}});"
            for table in tables
            for i in (1, 2)
        )
        node.run(f"BEGIN UNLOGGED BATCH {inserts} APPLY BATCH")


def test_a_dropped_table_in_a_mutation_costs_no_change_of_the_others(
    node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    columns = "(k int, c int, v text, tags set<text>, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)"
    for table in (*LIVING, *GONE):
        node.run(f"CREATE TABLE {table} {columns} AND cdc = true")
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")

    def rows(table: str) -> list[tuple[int, int]]:
        records = json_records(kafka, f"{unique}.{unique}.{table}")
        return sorted((record.value["key"]["k"], record.value["key"]["c"]) for record in records)

    def await_rows(numbers: range) -> None:
        wanted = sorted((number, c) for number in numbers for c in (1, 2))
        for table in LIVING:
            wait_for(lambda table=table: len(rows(table)) >= len(wanted), 60, f"rows of {table}", by=agent)
            assert rows(table) == wanted, agent.log_path.read_text()

    # Never known to the agent, as it did not run while the table was there.
    write(node, range(15))
    node.run("DROP TABLE gone", "DROP TABLE longer_gone")
    agent.start()
    try:
        await_rows(range(15))
        for table in GONE:
            node.run(f"CREATE TABLE {table} {columns}")
        write(node, range(15, 20))
        await_rows(range(20))
    finally:
        assert agent.stop() == 0, agent.log_tail()
    # Known to an earlier run; one is there again under its name.
    write(node, range(20, 35))
    node.run("DROP TABLE gone", "DROP TABLE longer_gone", f"CREATE TABLE gone {columns} AND cdc = true")
    agent.start()
    try:
        await_rows(range(35))
        assert rows("gone") == [], "of a table that was dropped nothing is sent"
        node.run("INSERT INTO gone (k, c, v) VALUES (99, 1, 'new')")
        wait_for(lambda: rows("gone") == [(99, 1)], 60, "all rows", by=agent)
    finally:
        assert agent.stop() == 0, agent.log_tail()
    log = agent.log_path.read_text()
    assert "is not known: it was dropped. Its changes are left out, those of segment" in log
    assert f"Table {unique}.gone (" in log
    assert ") is gone: it was dropped. Its changes are left out, those of segment" in log


def test_a_view_is_no_alarm_and_its_table_is_sent(
    node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node.run(
        "CREATE TABLE base (k int PRIMARY KEY, v int) WITH cdc = true",
        "CREATE MATERIALIZED VIEW by_v AS SELECT * FROM base WHERE v IS NOT NULL AND k IS NOT NULL PRIMARY KEY (v, k)",
        *(f"INSERT INTO base (k, v) VALUES ({k}, {k % 3})" for k in range(20)),
    )
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")
    agent.start()
    try:
        topic = f"{unique}.{unique}.base"
        wait_for(lambda: len(json_records(kafka, topic)) == 20, 60, "all rows", by=agent)
    finally:
        assert agent.stop() == 0, agent.log_tail()
    query = f"SELECT id FROM system_schema.views WHERE keyspace_name = '{unique}'"
    (view,) = node.session.execute(query)
    assert str(view["id"]) not in agent.log_path.read_text()


def test_changes_of_a_keyspace_that_is_not_logged_are_missed_aloud_until_it_is(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        f"ALTER KEYSPACE {unique} WITH durable_writes = false", "CREATE TABLE t (k int PRIMARY KEY) WITH cdc = true",
        *(f"INSERT INTO t (k) VALUES ({k})" for k in range(3)),
    )  # fmt: skip
    source = CassandraSourceConfig.parse({**node.contact, "keyspace": unique, "output": "events"})
    (note,) = CassandraSourceConnector(source).check(Deadline.after(60))
    assert "its changes are in no commit log" in note
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")
    agent.start()
    try:
        said = f"Changes of table {unique}.t are not sent: its keyspace has durable_writes = false"
        wait_for(lambda: said in agent.log_path.read_text(), 60, "what is missing", by=agent)
        node.run(
            f"ALTER KEYSPACE {unique} WITH durable_writes = true",
            *(f"INSERT INTO t (k) VALUES ({k})" for k in range(3, 6)),
        )
        topic = f"{unique}.{unique}.t"
        wait_for(lambda: len(json_records(kafka, topic)) >= 3, 60, "what is logged", by=agent)
        assert sorted(record.value["key"]["k"] for record in json_records(kafka, topic)) == [3, 4, 5]
    finally:
        assert agent.stop() == 0, agent.log_tail()
        node.run(f"DROP KEYSPACE {unique}")


def test_a_column_that_was_dropped_and_added_again_does_not_bring_old_values_back(
    node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node.run(
        "CREATE TABLE t (k int PRIMARY KEY, v text, tags set<text>, m map<text, int>) WITH cdc = true",
        "INSERT INTO t (k, v, tags, m) VALUES (1, 'old', {'old'}, {'old': 1})",
        "INSERT INTO t (k, v, tags) VALUES (2, 'old', {'old'})",
        *(f"ALTER TABLE t DROP {column}" for column in ("v", "tags", "m")),
        *(f"ALTER TABLE t ADD {column}" for column in ("v text", "tags set<text>", "m map<text, int>")),
        "UPDATE t SET v = 'new', tags = tags + {'new'} WHERE k = 1",
    )
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")
    agent.start()
    try:
        topic = f"{unique}.{unique}.t"
        wait_for(lambda: len(json_records(kafka, topic)) == 3, 60, "all rows", by=agent)
        first, second, third = sorted(
            (record.value for record in json_records(kafka, topic)), key=lambda event: event["writetime_us"]
        )
        for event in (first, second):
            assert event["op"] == "insert"
            assert event["columns"] == {"v": None, "tags": None, "m": None}
        assert third["columns"]["v"]["value"] == "new"
        assert [element["element"] for element in third["columns"]["tags"]["set"]] == ["new"]
    finally:
        assert agent.stop() == 0, agent.log_tail()
    assert node.json_rows("SELECT v, tags, m FROM t WHERE k = 2") == [{"v": None, "tags": None, "m": None}]
