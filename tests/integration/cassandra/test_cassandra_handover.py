"""Reads a table and its changes at the same time; both merge into the table, whichever comes first."""

from __future__ import annotations

import random
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cassandra_agent import AgentProcess
from cassandra_node import Changes, Node
from cassandra_state import TableState
from e2e_worker import WorkerProcess, wait_for
from test_cassandra_source import batches
from topic_reading import json_records

from connect.testing.fakes import OffsetStore
from connect.tools.services import KafkaEndpoint
from connectors.cassandra.source import page_rows
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

SKEW_S = 20
KINDS = {"region": "cell", "amount": "cell", "tags": "set", "prices": "map", "ship_to": "udt", "home": "cell"}
_TABLE = (
    "CREATE TYPE place (street text, number int)",
    """CREATE TABLE orders (
        tenant int, line int, region text static, amount text, tags set<text>, prices map<text, int>, ship_to place,
        home frozen<place>, PRIMARY KEY (tenant, line)
    ) WITH CLUSTERING ORDER BY (line DESC)""",
)


def statement(random_: random.Random) -> str:
    tenant, line, n = random_.randrange(20), random_.randrange(15), random_.randrange(1000)
    row = f"tenant = {tenant} AND line = {line}"
    insert = (
        "INSERT INTO orders (tenant, line, region, amount, tags, prices, ship_to, home) VALUES "
        f"({tenant}, {line}, 'r{n % 3}', '{n}', {{'a', '{n % 4}'}}, {{'k': {n}, 'l': 1}}, "
        f"{{street: 's', number: {n}}}, {{street: 'h', number: {n}}})"
    )
    return random_.choice(
        [
            insert,
            f"INSERT INTO orders (tenant, line, amount) VALUES ({tenant}, {line}, 'ttl') USING TTL 86400",
            f"UPDATE orders SET amount = '{n}', tags = tags + {{'{n % 5}'}}, prices['k'] = {n} WHERE {row}",
            f"UPDATE orders SET tags = tags - {{'a'}}, ship_to.number = {n} WHERE {row}",
            f"UPDATE orders SET region = 'r{n}' WHERE tenant = {tenant}",
            f"DELETE prices['l'], home FROM orders WHERE {row}",
            f"DELETE FROM orders WHERE {row}",
            f"DELETE FROM orders WHERE tenant = {tenant} AND line > 12",
            f"DELETE FROM orders WHERE tenant = {tenant}" if n < 100 else f"DELETE amount FROM orders WHERE {row}",
        ]
    )


def state(kafka: KafkaEndpoint, topic: str) -> dict[str, dict[str, Any]]:
    made = TableState(["tenant"], ["line"], KINDS, {"region"})
    made.apply(record.value for record in json_records(kafka, topic))
    return {key: comparable(row) for key, row in made.rows().items()}


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    # The server tells of a row that is there by an INSERT and one that has values nothing different.
    return {
        name: sorted(v) if isinstance(v, list) and v else {k: e for k, e in v.items() if e is not None} or None
        if isinstance(v, dict) else v or None if isinstance(v, list) else v
        for name, v in row.items()
    }  # fmt: skip


def with_values(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Whether a row without any value is there the server does not tell of those that were read."""
    own = [name for name in KINDS if name != "region"]
    return {key: row for key, row in rows.items() if any(row[name] is not None for name in own)}


@pytest.mark.parametrize("version", ["old_node", pytest.param("cassandra_node", marks=pytest.mark.chaos)])
def test_a_table_read_beside_its_changes_is_the_table(
    request: pytest.FixtureRequest, version: str, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node: Node = request.getfixturevalue(version)
    random_ = random.Random(5)
    node.keyspace(unique)
    node.run(*_TABLE)
    node.run(*(statement(random_) for _ in range(500)))
    # Until here no change is in the log. From here on all are.
    node.run("ALTER TABLE orders WITH cdc = true")
    topic, prefix = f"{unique}.{unique}.orders", f"{unique}."
    (tmp_path / "agent").mkdir()
    agent = AgentProcess(tmp_path / "agent", kafka, node, unique, tables=f"{unique}.orders")
    without = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}
    worker = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, f"{unique}-w", **without)

    changes = Changes(node, (statement(random_) for _ in count()))
    agent.start()
    worker.start()
    changes.start()
    try:
        source = {
            **node.contact, "connector.class": "connect.cassandra.CassandraSourceConnector", "tasks.max": "1",
            "keyspace": unique, "topic.prefix": prefix, "output": "events", "table.splits": "8", "fetch.size": "9",
        }  # fmt: skip
        assert worker.create("orders", source).status_code == 201

        def ops() -> set[str]:
            return {record.value["op"] for record in json_records(kafka, topic)}

        wait_for(lambda: {"snapshot", "update", "delete"} <= ops(), 60, "both in the topic", by=worker)
        changes.go_on(100)
        changes.end()
        rows = node.json_rows("SELECT * FROM orders")
        key_of = TableState(["tenant"], ["line"], KINDS, {"region"}).key_of
        expected = with_values({key_of(row): comparable(dict(row)) for row in rows})
        assert len(expected) > 50
        wait_for(lambda: with_values(state(kafka, topic)) == expected, 60, "the table's state", by=agent)
    finally:
        changes.end()
        worker.stop()
        assert agent.stop() == 0, agent.log_tail()


def test_a_change_by_a_node_whose_clock_is_behind_ours_is_newer_than_what_was_read(
    old_node: Node, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cassandra 4.1 tells no writetimes of elements: they count as written before the reading began."""
    node = old_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, tags set<text>)", "INSERT INTO t (k, tags) VALUES (1, {'a', 'b'})")

    class Ahead:
        @staticmethod
        def time_ns() -> int:
            return time.time_ns() + SKEW_S * 1_000_000_000

        time = staticmethod(time.time)

    monkeypatch.setattr(page_rows, "time", Ahead)
    given = {**node.contact, "keyspace": unique, "output": "events", "table.splits": "2"}
    source = CassandraSourceConnector(CassandraSourceConfig.parse(given))
    (task,) = (source.task(share) for share in source.task_configs(1))
    events: list[Any] = [row for batch in batches(task, OffsetStore()) for row in batch.values.rows()]
    # What an agent sends of `tags = tags - {'a'}`, written by the node's clock.
    node.run("UPDATE t SET tags = tags - {'a'} WHERE k = 1")
    removed_us = time.time_ns() // 1000
    element = {"element": "a", "writetime_us": removed_us, "ttl_s": None, "local_deletion_s": None}
    change = {"cleared_us": None, "set": [], "removed": [element]}
    update = {**events[0], "op": "update", "liveness": None, "deletion": None, "columns": {"tags": change}}
    state = TableState(["k"], [], {"tags": "set"}, set())
    state.apply([update, *events])
    ((_, row),) = state.rows().items()
    assert row["tags"] == ["b"] == list(node.json_rows("SELECT tags FROM t")[0]["tags"])
