"""Lists that are read while they change, beside their changes: each element once and in its place."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from typing import Any

from cassandra_agent import AgentProcess
from cassandra_node import Changes, Node
from cassandra_state import TableState
from e2e_worker import wait_for
from test_cassandra_source import batches
from topic_reading import json_records

from connect.testing.fakes import OffsetStore
from connect.tools.services import KafkaEndpoint
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

KEYS = 200


def statement(draw: random.Random, number: int) -> str:
    """A change of a list. None is of a single element by its position, which nothing tells of a list that was read."""
    row = f"k = {draw.randrange(KEYS)}"
    if number % 20 == 0:
        return draw.choice(
            [f"UPDATE t SET steps = [{number}, {number}] WHERE {row}", f"DELETE steps FROM t WHERE {row}"]
        )
    return draw.choice(
        [
            f"UPDATE t SET steps = steps + [{number}] WHERE {row}",
            f"UPDATE t SET steps = steps + [1, 2] WHERE {row}",
            f"UPDATE t SET steps = [{number}] + steps WHERE {row}",
        ]
    )


def rows(events: list[Any]) -> dict[str, Any]:
    state = TableState(["k"], [], {"steps": "list"}, set())
    state.apply(events)
    return {key: row["steps"] for key, row in state.rows().items() if row["steps"]}


def test_lists_read_beside_their_changes_have_each_element_once_and_in_its_place(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, draw = cassandra_node, random.Random(3)
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, steps list<int>)")
    node.run(*(statement(draw, number) for number in range(400)))
    # Until here no change is in the log. From here on all are.
    node.run("ALTER TABLE t WITH cdc = true")
    node.run(*(statement(draw, number) for number in range(400, 600)))
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.t")
    changes = Changes(node, (statement(draw, number) for number in count(600)))
    agent.start()
    changes.start()
    try:
        given = {**node.contact, "keyspace": unique, "output": "events", "table.splits": "2", "fetch.size": "7"}
        source = CassandraSourceConnector(CassandraSourceConfig.parse(given))
        (task,) = (source.task(share) for share in source.task_configs(1))
        read = [row for batch in batches(task, OffsetStore()) for row in batch.values.rows()]
        changes.go_on(100)
    finally:
        changes.end()
    try:
        key_of = TableState(["k"], [], {}, set()).key_of
        expected = {key_of(row): row["steps"] for row in node.json_rows("SELECT * FROM t") if row["steps"]}
        assert len(expected) > 50

        def logged() -> list[Any]:
            return [record.value for record in json_records(kafka, f"{unique}.{unique}.t")]

        wait_for(lambda: rows([*read, *logged()]) == expected, 60, "the table's lists", by=agent)
        assert rows([*logged(), *read]) == expected, "in the other order"
        assert rows(read) != expected, "nothing changed meanwhile"
    finally:
        assert agent.stop() == 0, agent.log_tail()
