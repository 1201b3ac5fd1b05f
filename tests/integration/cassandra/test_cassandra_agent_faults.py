"""Checks that a topic lacks nothing that its table keeps, whatever goes wrong around the agent."""

from __future__ import annotations

import random
import threading
from pathlib import Path

from cassandra import DriverException, OperationTimedOut, RequestExecutionException
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_agent import AgentProcess
from cassandra_node import Node
from cassandra_state import TableState
from e2e_worker import wait_for
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint, KafkaService

KINDS = {"v": "cell", "tags": "set"}
_AWAY = (NoHostAvailable, OperationTimedOut, RequestExecutionException, DriverException)


def state(kafka: KafkaEndpoint, topic: str, kinds: dict[str, str]) -> dict[str, dict]:
    made = TableState(["k"], [], kinds, set())
    made.apply(record.value for record in json_records(kafka, topic))
    return {
        key: {c: sorted(v) if isinstance(v, list) else v for c, v in row.items()} for key, row in made.rows().items()
    }


def table(node: Node, kinds: dict[str, str]) -> dict[str, dict]:
    key_of = TableState(["k"], [], kinds, set()).key_of
    rows = node.json_rows("SELECT * FROM t")
    return {key_of(row): {c: v or None if isinstance(v, list) else v for c, v in row.items()} for row in rows}


class Writer:
    """Inserts, changes and deletes random rows until it is told to end, whatever the node says."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.written = 0

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join(60)

    def _write(self) -> None:
        random_ = random.Random(7)
        while not self._ending.wait(0.005):
            k, n = random_.randrange(200), random_.randrange(10**6)
            statement = random_.choice(
                [
                    f"INSERT INTO t (k, v, tags) VALUES ({k}, '{n}', {{'a', '{n % 5}'}})",
                    f"UPDATE t SET v = '{n}', tags = tags + {{'{n % 7}'}} WHERE k = {k}",
                    f"UPDATE t SET tags = tags - {{'{n % 7}'}} WHERE k = {k}",
                    f"DELETE v FROM t WHERE k = {k}",
                    f"DELETE FROM t WHERE k = {k}",
                ]
            )
            try:
                self._node.session.execute(statement, timeout=5)
                self.written += 1
            except _AWAY:  # the node is being killed
                self._ending.wait(0.2)


def test_agent_broker_and_node_are_killed_while_writes_go_on(cassandra_node: Node, tmp_path: Path, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v text, tags set<text>) WITH cdc = true")
    topic = f"{unique}.{unique}.t"
    with KafkaService() as broker:
        kafka = broker.endpoint
        agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.t")
        writer = Writer(node)
        agent.start()
        writer.start()
        try:

            def moves_on(what: str) -> None:
                seen, written = len(json_records(kafka, topic)), writer.written
                wait_for(lambda: writer.written > written + 100, 60, f"writes after {what}")
                wait_for(
                    lambda: len(json_records(kafka, topic)) > seen + 100,
                    90,
                    f"changes after {what}",
                    by=agent,
                )

            moves_on("the start")
            agent.kill()
            agent.start()
            moves_on("the agent's end")
            broker.kill()
            broker.start()
            moves_on("the broker's end")
            node.service.kill()
            node.start_again()
            moves_on("the node's end")
        finally:
            writer.end()
        expected = table(node, KINDS)
        assert len(expected) > 50
        wait_for(lambda: state(kafka, topic, KINDS) == expected, 90, "the table's state", by=agent)
        assert agent.stop() == 0, agent.log_tail()


def test_schemas_that_changed_before_the_log_was_read(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        "CREATE TYPE place (street text)",
        "CREATE TABLE t (k int PRIMARY KEY, v text, old text, home place, kept frozen<place>) WITH cdc = true",
        "CREATE TABLE gone (k int PRIMARY KEY) WITH cdc = true",
        "CREATE TABLE counts (k int PRIMARY KEY, n counter) WITH cdc = true",
        "INSERT INTO t (k, v, old, home, kept) VALUES (1, 'one', 'o', {street: 's'}, {street: 's'})",
        "INSERT INTO gone (k) VALUES (1)",
        "UPDATE counts SET n = n + 5 WHERE k = 1",
        "ALTER TABLE t ADD more int",
        "INSERT INTO t (k, v, more) VALUES (2, 'two', 2)",
        "ALTER TYPE place ADD number int",
        "INSERT INTO t (k, home, kept) VALUES (3, {street: 's', number: 3}, {street: 'k', number: 4})",
        "ALTER TABLE t DROP old",
        "DROP TABLE gone",
        "TRUNCATE counts",
        "CREATE TABLE late (k int PRIMARY KEY)",
    )
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.*")
    agent.start()
    try:
        kinds = {"v": "cell", "home": "udt", "kept": "cell", "more": "cell"}

        # The server leaves out null fields of a type that is not frozen, and the state has those that were written.
        def filled(rows: dict[str, dict]) -> dict[str, dict]:
            return {
                key: {**row, "home": None if row["home"] is None else {"number": None, **row["home"]}}
                for key, row in rows.items()
            }

        expected = filled(table(node, kinds))
        assert len(expected) == 3
        topic = f"{unique}.{unique}.t"
        wait_for(lambda: filled(state(kafka, topic, kinds)) == expected, 60, "the state", by=agent)
        # While it runs the schema changes again.
        node.run("ALTER TABLE t ADD later text", "INSERT INTO t (k, later) VALUES (4, 'l')")
        kinds["later"] = "cell"
        expected = filled(table(node, kinds))
        wait_for(lambda: filled(state(kafka, topic, kinds)) == expected, 60, "the state", by=agent)
        node.run("ALTER TABLE late WITH cdc = true", "INSERT INTO late (k) VALUES (2)")
        late = f"{unique}.{unique}.late"
        wait_for(
            lambda: [record.key for record in json_records(kafka, late)] == [{"k": 2}],
            60,
            "the late table's row",
            by=agent,
        )
    finally:
        assert agent.stop() == 0, agent.log_tail()
    log = agent.log_path.read_text()
    assert f"Changes of table {unique}.counts are not sent: it holds counters" in log
    assert "is not known: it was dropped" in log


def test_a_damaged_segment_is_kept_and_what_follows_is_read(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v text) WITH cdc = true")
    insert = node.session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    folder = node.endpoint.cdc_raw_folder

    def completed() -> list[Path]:
        return sorted(path for path in folder.glob("*_cdc.idx") if "COMPLETED" in path.read_text())

    before = completed()
    execute_concurrent_with_args(node.session, insert, [(k, f"{k}" * 600) for k in range(3000)])
    wait_for(lambda: len(completed()) > len(before) + 1, 60, "completed segments")
    damaged = completed()[-2].with_name(completed()[-2].name.replace("_cdc.idx", ".log"))
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    agent = AgentProcess(tmp_path, kafka, node, unique, tables=f"{unique}.t")
    agent.start()
    try:
        topic = f"{unique}.{unique}.t"
        kept = folder.with_name(f"{folder.name}_damaged") / damaged.name
        wait_for(lambda: kept.exists() and not completed(), 60, "the segments' end", by=agent)
        found = {record.key["k"] for record in json_records(kafka, topic)}
        assert 2999 in found
        assert 1000 < len(found) < 3000
        assert f"{damaged} is damaged" in agent.log_path.read_text()
    finally:
        assert agent.stop() == 0, agent.log_tail()
