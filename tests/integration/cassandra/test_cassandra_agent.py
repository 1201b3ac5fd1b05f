"""Checks beside a real node that the agent's events in a topic say what the table holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_agent import AgentProcess
from cassandra_node import Node
from cassandra_state import TableState
from e2e_worker import wait_for
from topic_reading import JsonRecord, json_records

from connect.tools.services import KafkaEndpoint

TABLE = (
    "CREATE TYPE place (street text, number int)",
    """CREATE TABLE orders (
        tenant text, customer int, placed int, line int, region text static, flags set<int> static,
        amount text, tags set<text>, notes list<text>, prices map<text, int>, ship_to place, home frozen<place>,
        PRIMARY KEY ((tenant, customer), placed, line)
    ) WITH CLUSTERING ORDER BY (placed DESC, line ASC) AND cdc = true""",
    "CREATE TABLE not_watched (k int PRIMARY KEY, v int)",
)
KINDS = {
    "region": "cell", "flags": "set", "amount": "cell", "tags": "set", "notes": "list", "prices": "map",
    "ship_to": "udt", "home": "cell",
}  # fmt: skip
KEY = "tenant = 'a' AND customer = 1"
ROW = f"{KEY} AND placed = 3 AND line = 1"
_CHANGES = (
    f"UPDATE orders SET amount = '2', tags = tags + {{'c'}}, prices['k'] = 2 WHERE {ROW}",
    f"UPDATE orders SET notes = ['first'] + notes, tags = tags - {{'x'}} WHERE {ROW}",
    f"UPDATE orders SET notes[1] = 'second', ship_to.number = 7 WHERE {ROW}",
    f"DELETE prices['l'], amount FROM orders WHERE {ROW}",
    f"UPDATE orders SET region = 'eu', flags = {{1, 2}} WHERE {KEY}",
    f"UPDATE orders SET flags = flags - {{1}} WHERE {KEY}",
    f"DELETE FROM orders WHERE {KEY} AND placed = 4 AND line = 2",
    f"DELETE FROM orders WHERE {KEY} AND placed > 5 AND placed <= 7",
    f"DELETE FROM orders WHERE {KEY} AND placed = 8 AND line >= 2",
    f"DELETE FROM orders WHERE {KEY} AND placed = 9",
    "DELETE FROM orders WHERE tenant = 'b' AND customer = 2",
    "INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('b', 2, 1, 1, 'again')",
    "INSERT INTO orders (tenant, customer, placed, line) VALUES ('key only', 1, 1, 1)",
    "INSERT INTO orders (tenant, customer, region) VALUES ('static only', 1, 'us')",
    "UPDATE orders SET amount = 'no marker' WHERE tenant = 'u' AND customer = 1 AND placed = 1 AND line = 1",
    "UPDATE orders SET amount = null WHERE tenant = 'u' AND customer = 1 AND placed = 1 AND line = 1",
    "INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('l', 1, 1, 1, 'late') USING TIMESTAMP 5",
    "INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('l', 1, 1, 1, 'later') USING TIMESTAMP 4",
    "INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('c', 1, 1, 1, 'lwt') IF NOT EXISTS",
    "INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('ttl', 1, 1, 1, 'x') USING TTL 86400",
    """BEGIN BATCH
       INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('batch', 1, 1, 1, 'one');
       INSERT INTO orders (tenant, customer, placed, line, amount) VALUES ('batch', 2, 1, 1, 'two');
       DELETE FROM orders WHERE tenant = 'batch' AND customer = 3;
       APPLY BATCH""",
    "INSERT INTO not_watched (k, v) VALUES (1, 1)",
)


def insert(tenant: str, customer: int, placed: int, line: int) -> str:
    return (
        "INSERT INTO orders (tenant, customer, placed, line, region, amount, tags, notes, prices, ship_to, home) VALUES"
        f" ('{tenant}', {customer}, {placed}, {line}, 'r', '{placed}', {{'a', 'x'}}, ['n', 'm'], {{'k': 1, 'l': 2}},"
        " {street: 's', number: 1}, {street: 'h', number: 2})"
    )


@pytest.fixture(params=["cassandra_node", "old_node"])
def node(request: pytest.FixtureRequest, unique: str) -> Iterator[Node]:
    """A node of each version of the commit log, with the table in a keyspace of this test."""
    node: Node = request.getfixturevalue(request.param)
    node.keyspace(unique)
    node.run(*TABLE)
    yield node
    node.run(f"DROP KEYSPACE {unique}")


def changed(node: Node) -> None:
    for tenant, customer in (("a", 1), ("b", 2)):
        for placed in range(1, 11):
            for line in (1, 2, 3):
                node.run(insert(tenant, customer, placed, line))
    node.run(*_CHANGES)


def table_rows(node: Node) -> dict[str, dict[str, Any]]:
    rows = node.json_rows("SELECT * FROM orders")
    state = TableState(["tenant", "customer"], ["placed", "line"], KINDS, {"region", "flags"})
    # An empty collection is null, and so is a list or map that the server writes as empty.
    return {state.key_of(row): {k: None if v in ([], {}) else v for k, v in row.items()} for row in rows}


def state_of(records: list[JsonRecord]) -> dict[str, dict[str, Any]]:
    state = TableState(["tenant", "customer"], ["placed", "line"], KINDS, {"region", "flags"})
    state.apply(record.value for record in records)
    return {key: {k: sorted(v) if k in {"tags", "flags"} and v else v for k, v in row.items()}
            for key, row in state.rows().items()}  # fmt: skip


def test_the_state_of_the_topic_is_that_of_the_table(
    node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    topic = f"{unique}.{unique}.orders"
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")
    agent.start()
    try:
        changed(node)
        expected = table_rows(node)
        assert len(expected) > 20
        wait_for(lambda: state_of(json_records(kafka, topic)) == expected, 60, "the table's state", by=agent)
        records = json_records(kafka, topic)
        assert {record.value["op"] for record in records} == {
            "insert", "update", "delete", "static", "range_delete", "partition_delete"
        }  # fmt: skip
        ids = [record.value["event_id"] for record in records]
        assert len(set(ids)) == len(ids), "each change once"
        places: dict[str, set[int]] = {}
        for record in records:
            places.setdefault(json.dumps(record.key), set()).add(record.partition)
        assert all(len(partitions) == 1 for partitions in places.values())
    finally:
        assert agent.stop() == 0, agent.log_tail()


def test_segments_go_once_their_changes_are_in_kafka_and_transactions_bring_each_once(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE orders (k int PRIMARY KEY, v text) WITH cdc = true")
    folder = node.endpoint.cdc_raw_folder
    insert_one = node.session.prepare("INSERT INTO orders (k, v) VALUES (?, ?)")

    def write(first: int, last: int) -> None:
        execute_concurrent_with_args(node.session, insert_one, [(k, f"{k}" * 600) for k in range(first, last)])

    def is_completed(index: Path) -> bool:
        try:
            return "COMPLETED" in index.read_text()
        except FileNotFoundError:  # the agent has just removed it
            return False

    def completed() -> list[str]:
        return sorted(path.name for path in folder.glob("*_cdc.idx") if is_completed(path))

    agent = AgentProcess(tmp_path, kafka, node, unique, in_transactions=True, tables=f"{unique}.orders")
    topic = f"{unique}.{unique}.orders"
    write(0, 1500)
    wait_for(completed, 60, "a completed segment")
    agent.start()
    try:
        wait_for(lambda: not completed(), 60, "the segments' end", by=agent)
        agent.kill()
        write(1500, 3000)
        agent.start()
        wait_for(lambda: len({r.key["k"] for r in json_records(kafka, topic)}) == 3000, 60, "all rows", by=agent)
        wait_for(lambda: not completed(), 60, "the segments' end", by=agent)
    finally:
        assert agent.stop() == 0, agent.log_tail()
    records = json_records(kafka, topic)
    assert len(records) == 3000
    values = {record.key["k"]: record.value["columns"]["v"]["value"] for record in records}
    assert values == {k: f"{k}" * 600 for k in range(3000)}
