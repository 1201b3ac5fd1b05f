"""Tables and clocks that are not as they should be: what cannot be read is named, and all else is read."""

from __future__ import annotations

from uuid import UUID

import pytest
from cassandra_node import Node
from test_cassandra_incremental import read, task_of
from test_cassandra_source import batches

from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.cassandra.source import task as cassandra_task
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

NO_CLASS_OF_THE_DRIVERS = "'org.apache.cassandra.db.marshal.LexicalUUIDType'"


def test_a_type_that_the_driver_does_not_know_is_read_as_its_bytes(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        f"CREATE TABLE t (k {NO_CLASS_OF_THE_DRIVERS}, v {NO_CLASS_OF_THE_DRIVERS}, w int, PRIMARY KEY (k))",
        *(f"INSERT INTO t (k, v, w) VALUES (0x{_uuid(i).hex()}, 0x{_uuid(i + 100).hex()}, {i})" for i in range(9)),
    )
    store = OffsetStore()
    source = CassandraSourceConnector(CassandraSourceConfig.parse({**node.contact, "keyspace": unique}))
    (task,) = (source.task(share) for share in source.task_configs(1))
    rows = [row for batch in batches(task, store) for row in batch.values.rows()]
    assert sorted((row["w"], row["k"], row["v"]) for row in rows) == [(i, _uuid(i), _uuid(i + 100)) for i in range(9)]


def _uuid(number: int) -> bytes:
    return UUID(fields=(number, 0, 0x1000, 0x80, 0, 0)).bytes


@pytest.mark.parametrize("times", ["false", "true"])
def test_counters_are_read_as_what_they_count(cassandra_node: Node, unique: str, times: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        "CREATE TABLE t (k int, c int, total counter static, n counter, PRIMARY KEY (k, c))",
        *(f"UPDATE t SET n = n + {i} WHERE k = {i % 2} AND c = {i}" for i in range(8)),
        *("UPDATE t SET n = n - 3, total = total + 5 WHERE k = 1 AND c = 7" for _ in range(2)),
    )
    source = CassandraSourceConnector(
        CassandraSourceConfig.parse({**node.contact, "keyspace": unique, "write.times": times})
    )
    (task,) = (source.task(share) for share in source.task_configs(1))
    rows = [row for batch in batches(task, OffsetStore()) for row in batch.values.rows()]
    found = {(row["k"], row["c"]): (row["n"], row["total"]) for row in rows}
    expected = {(i % 2, i): (i, 10 if i % 2 else None) for i in range(8)}
    assert found == {**expected, (1, 7): (1, 10)}


def test_a_table_whose_values_have_no_form_is_named_and_the_others_are_read(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run(
        "CREATE TABLE odd (k int PRIMARY KEY, v map<frozen<tuple<int, int>>, text>)",
        "CREATE TABLE usual (k int PRIMARY KEY)",
        "INSERT INTO odd (k, v) VALUES (1, {(1, 2): 'x'})",
        "INSERT INTO usual (k) VALUES (1)",
    )
    source = CassandraSourceConnector(CassandraSourceConfig.parse({**node.contact, "keyspace": unique}))
    (task,) = (source.task(share) for share in source.task_configs(1))
    context, topics = FakeSourceContext(), []
    task.open(context)
    while context.gauges.get("splits_left") != 0:
        batch = task.poll(Deadline.after(5))
        topics += [batch.topic] * len(batch) if batch is not None else []
    task.close()
    assert topics == [f"{unique}.usual"]
    assert context.explained is not None
    assert context.explained.startswith(f"table {unique}.odd is left aside: ")
    assert "map whose keys are" in context.explained


def test_rows_of_clocks_that_differ_come_once_within_the_settle_time(
    cassandra_node: Node, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, store, settle_ms, our_ms = cassandra_node, OffsetStore(), 2000, 1_700_000_000_000
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, at timestamp)")
    monkeypatch.setattr(cassandra_task, "_now_ms", lambda: our_ms)
    settings = {"mode": "timestamp", "incremental.columns": "at", "settle.time.ms": str(settle_ms)}
    task = task_of(node, unique, store, **settings)
    found: list[int] = []
    for k in range(0, 24, 3):
        # Three writers: one with our clock, one whose clock is behind and one whose is ahead, by half of the time.
        for number, at_ms in enumerate((our_ms, our_ms - settle_ms // 2, our_ms + settle_ms // 2)):
            node.run(f"INSERT INTO t (k, at) VALUES ({k + number}, {at_ms})")
        found += [row["k"] for row in read(task, store, 100, seconds=0.3)]
        assert k + 2 not in found, "a row of the future"
        our_ms += 500
    our_ms += 2 * settle_ms
    found += [row["k"] for row in read(task, store, 24 - len(found), seconds=60)]
    task.close()
    assert sorted(found) == list(range(24))
