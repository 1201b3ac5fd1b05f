"""Rebuilds topics from tables by `connect cassandra restore`, a part of them or whole, while changes go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_agent import AgentProcess
from cassandra_node import Changes, Node
from cassandra_state import TableState
from click.testing import CliRunner, Result
from confluent_kafka import Producer
from e2e_worker import wait_for
from test_cassandra_bulk import worker_properties
from topic_reading import JsonRecord, json_records

from connect.backfill.verify import missing
from connect.backfill.verify.found_rows import FoundRows
from connect.cli import main
from connect.tools.services import KafkaEndpoint


class Restore:
    """The command over one keyspace; its topics begin with the keyspace's name."""

    def __init__(self, folder: Path, kafka: KafkaEndpoint, node: Node, keyspace: str) -> None:
        self._source, self._worker = folder / "source.json", folder / "worker.properties"
        self._source.write_text(json.dumps({"name": "x", "config": {**node.contact, "table.splits": "4"}}))
        properties = worker_properties(kafka, keyspace)
        self._worker.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._keyspace = keyspace

    def run(self, *options: str) -> Result:
        command = ["cassandra", "restore", str(self._source), "--worker", str(self._worker), "--keyspace",
                   self._keyspace, "--lanes", "1", "--topic-prefix", f"{self._keyspace}.", *options]  # fmt: skip
        return CliRunner().invoke(main, command)


def newest(records: list[JsonRecord]) -> dict[Any, Any]:
    """What compaction leaves of a topic."""
    found = {record.key["k"]: record.value for record in sorted(records, key=lambda r: r.offset)}
    return {k: value["v"] for k, value in found.items() if value is not None}


def filled(node: Node, keyspace: str, *names: str, rows: int = 200) -> None:
    node.keyspace(keyspace)
    for name in names:
        node.run(f"CREATE TABLE {name} (k int PRIMARY KEY, v text, tags set<text>)")
        insert = node.session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
        execute_concurrent_with_args(node.session, insert, [(k, name) for k in range(rows)])


def test_one_command_rebuilds_the_topics_of_a_keyspace(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    filled(cassandra_node, unique, "one", "two")
    restore = Restore(tmp_path, kafka, cassandra_node, unique)
    for outcome in ("8 ranges", "It was done before"):
        ran = restore.run("--lanes", "2")
        assert ran.exit_code == 0, ran.output
        assert outcome in ran.output
        assert "good, as far as it was compared: 0 missing, 0 twice" in ran.output
        for name in ("one", "two"):
            records = json_records(kafka, f"{unique}.{unique}.{name}")
            assert sorted((r.value["k"], r.value["v"]) for r in records) == [(k, name) for k in range(200)]


def test_keys_that_are_gone_get_tombstones_and_others_stay(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, topic = cassandra_node, f"{unique}.{unique}.one"
    filled(node, unique, "one", "two")
    restore = Restore(tmp_path, kafka, node, unique)
    assert restore.run("--tables", "one").exit_code == 0
    node.run(*(f"DELETE FROM one WHERE k = {k}" for k in range(0, 200, 4)), "UPDATE one SET v = 'new' WHERE k = 1")
    ran = restore.run("--tables", "one", "--job", f"{unique}-again", "--delete-missing")
    assert ran.exit_code == 0, ran.output
    assert f"{topic}: 50 keys were gone, and have tombstones now" in ran.output
    expected = {k: "new" if k == 1 else "one" for k in range(200) if k % 4}
    assert newest(json_records(kafka, topic)) == expected
    assert json_records(kafka, f"{unique}.{unique}.two") == [], "another table is not named"
    # A key that somebody else wrote since the restore began is not known to be gone.
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, json.dumps({"k": 999, "v": "live", "tags": None}), json.dumps({"k": 999}))
    producer.flush(20)
    ran = restore.run("--tables", "one", "--job", f"{unique}-again", "--delete-missing")
    assert f"{topic}: 0 keys were gone" in ran.output, ran.output
    assert newest(json_records(kafka, topic)) == {**expected, 999: "live"}


def test_rows_that_come_while_keys_are_deleted_stay(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, topic = cassandra_node, f"{unique}.{unique}.one"
    node.keyspace(unique)
    node.run("CREATE TABLE one (a int, c int, s text static, v text, PRIMARY KEY (a, c))")
    for k in range(40):
        node.run(f"INSERT INTO one (a, c, v) VALUES ({k}, {k}, 'old')")
    node.run(*(f"INSERT INTO one (a, s) VALUES ({k}, 'static')" for k in (100, 101, 102)))
    restore = Restore(tmp_path, kafka, node, unique)
    assert restore.run().exit_code == 0
    node.run(*(f"DELETE FROM one WHERE a = {k}" for k in (1, 2, 3, 4, 100, 101)))
    # A partition of nothing but static values gets rows, whose record has another key.
    node.run("INSERT INTO one (a, c, v) VALUES (102, 5, 'row')")
    gone, records = missing._gone, FoundRows.records
    asked: list[int] = []

    def read_topics(*of: Any) -> set[int]:
        found = gone(*of)
        # The tables were read and found good, and the topics say which keys have no record of it.
        node.run("INSERT INTO one (a, c, v) VALUES (1, 1, 'again')", "INSERT INTO one (a, s) VALUES (100, 'again')")
        return found

    def ask(rows: FoundRows, of: str, keys: Any) -> Any:
        found = list(records(rows, of, keys))
        asked.append(len(keys))
        if len(asked) == 1:
            # Asked for, and its tombstone is not yet written.
            node.run("INSERT INTO one (a, c, v) VALUES (2, 2, 'late')")
        return iter(found)

    monkeypatch.setattr(missing, "_gone", read_topics)
    monkeypatch.setattr(FoundRows, "records", ask)
    ran = restore.run("--job", f"{unique}-again", "--delete-missing")
    assert ran.exit_code == 0, ran.output
    assert f"{topic}: 4 keys were gone" in ran.output
    assert asked == [7, 5]
    left = {(r.key["a"], r.key["c"]): r.value for r in sorted(json_records(kafka, topic), key=lambda r: r.offset)}
    assert {key for key, value in left.items() if value is None} == {(3, 3), (4, 4), (101, None), (102, None)}
    assert left[102, 5]["s"] == "static"
    # The record of a row that was there again in time is as it was; the next restore brings the row.
    assert left[1, 1]["v"] == "old"
    assert left[2, 2]["v"] == "late"


@pytest.mark.parametrize("options", [("--no-verify",), ("--since", "2024-05-01 00:00:00Z"), ("--set", "output=events")])
def test_keys_are_not_deleted_where_not_all_rows_are_known(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str, options: tuple[str, ...]
) -> None:
    ran = Restore(tmp_path, kafka, cassandra_node, unique).run("--delete-missing", *options)
    assert ran.exit_code == 1
    assert "--delete-missing cannot go with" in ran.output


@pytest.mark.parametrize("version", ["cassandra_node", pytest.param("old_node", marks=pytest.mark.chaos)])
def test_rows_that_were_written_since_a_moment_alone(
    request: pytest.FixtureRequest, version: str, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node: Node = request.getfixturevalue(version)
    node.keyspace(unique)
    old_us, new_us = 1_600_000_000_000_000, 1_700_000_000_000_000
    tags = "tags set<text>, " if version == "cassandra_node" else ""
    node.run(f"CREATE TABLE t (k int PRIMARY KEY, {tags}v text, w text)", "CREATE TABLE keys (k int PRIMARY KEY)")
    node.run(
        f"INSERT INTO t (k, v, w) VALUES (1, 'old', 'old') USING TIMESTAMP {old_us}",
        f"INSERT INTO t (k, v, w) VALUES (2, 'new', 'new') USING TIMESTAMP {new_us}",
        f"INSERT INTO t (k, v, w) VALUES (3, 'old', 'old') USING TIMESTAMP {old_us}",
        f"UPDATE t USING TIMESTAMP {new_us} SET w = 'new' WHERE k = 3",
        f"INSERT INTO t (k, v) VALUES (4, 'old') USING TIMESTAMP {old_us}",
        "INSERT INTO keys (k) VALUES (1)",
    )
    expected = {1: False, 2: True, 3: True, 4: False}
    if tags:
        node.run(f"UPDATE t USING TIMESTAMP {new_us} SET tags = tags + {{'a'}} WHERE k = 4")
        expected[4] = True
    restore = Restore(tmp_path, kafka, node, unique)
    since = datetime.fromtimestamp((new_us - 1000) / 1_000_000, UTC).isoformat()
    for output in ("rows", "events"):
        ran = restore.run("--since", since, "--set", f"output={output}", "--set", f"topic.prefix={output}.{unique}.",
                          "--job", f"{unique}-{output}")  # fmt: skip
        assert ran.exit_code == 0, ran.output
        assert "good, as far as it was compared: 0 missing, 0 twice" in ran.output
        # An event without a time of its own stands at the moment of the reading: a later one gives others.
        assert ("value by value" in ran.output) is (output == "rows")
        assert ("its rows tell when they were read" in ran.output) is (output == "events")
        found = {record.key["k"] for record in json_records(kafka, f"{output}.{unique}.{unique}.t")}
        assert found == {k for k, is_new in expected.items() if is_new}
        assert len(json_records(kafka, f"{output}.{unique}.{unique}.keys")) == 1, "of a key no time is told"


def test_agents_send_changes_while_the_topic_is_rebuilt(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node, topic = cassandra_node, f"{unique}.{unique}.one"
    filled(node, unique, "one", rows=2000)
    node.run("ALTER TABLE one WITH cdc = true")
    (tmp_path / "agent").mkdir()
    agent = AgentProcess(tmp_path / "agent", kafka, node, unique, tables=f"{unique}.one")

    def statements() -> Iterator[str]:
        for number in count(step=7):
            yield f"UPDATE one SET v = '{number}' WHERE k = {number % 2100}"
            yield f"DELETE FROM one WHERE k = {number % 899}"

    changes = Changes(node, statements())
    agent.start()
    changes.start()
    try:
        ran = Restore(tmp_path, kafka, node, unique).run("--set", "output=events", "--no-verify")
        assert ran.exit_code == 0, ran.output
        # Changes behind the restore as well.
        changes.go_on(100)
        changes.end()

        def state() -> dict[str, Any]:
            made = TableState(["k"], [], {"v": "cell", "tags": "set"}, set())
            made.apply(record.value for record in json_records(kafka, topic))
            # A row without a value the server does not tell of those that were read.
            return {key: row["v"] for key, row in made.rows().items() if row["v"] is not None}

        key_of = TableState(["k"], [], {}, set()).key_of
        expected = {key_of(row): row["v"] for row in node.json_rows("SELECT * FROM one") if row["v"] is not None}
        assert len(expected) > 1000
        wait_for(lambda: state() == expected, 60, "the table's state", by=agent)
        ops = {record.value["op"] for record in json_records(kafka, topic)}
        assert {"snapshot", "update", "partition_delete"} <= ops
    finally:
        changes.end()
        assert agent.stop() == 0, agent.log_tail()
