"""Checks that rows which are found by a time column come once each, and that tables can be read again."""

from __future__ import annotations

import json
import time

import pytest
from cassandra_node import Node

from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector
from connectors.cassandra.source.task import CassandraSourceTask


def task_of(
    node: Node, keyspace: str, store: OffsetStore, context: FakeSourceContext | None = None, **more: str
) -> CassandraSourceTask:
    given = {**node.contact, "keyspace": keyspace, "table.splits": "4", "poll.interval.ms": "100", **more}
    source = CassandraSourceConnector(CassandraSourceConfig.parse(given))
    (task,) = (source.task(share) for share in source.task_configs(1))
    task.open(context or FakeSourceContext(store=store))
    return task


def read(task: CassandraSourceTask, store: OffsetStore, rows: int, seconds: float = 60.0) -> list[dict]:
    """The next rows, their places stored as they come."""
    found: list[dict] = []
    deadline = Deadline.after(seconds)
    while len(found) < rows and not deadline.expired:
        batch = task.poll(deadline.sooner(1.0))
        if batch is not None:
            found += batch.values.rows()
            store.store([batch.position])
    return found


@pytest.mark.parametrize("column", ["timestamp", "timeuuid"])
def test_new_rows_come_once_they_are_settled_and_a_restart_repeats_none(
    cassandra_node: Node, unique: str, column: str
) -> None:
    node, store = cassandra_node, OffsetStore()
    node.keyspace(unique)
    node.run(f"CREATE TABLE t (k int PRIMARY KEY, at {column}, v text)")
    now = "toTimestamp(now())" if column == "timestamp" else "now()"
    for k in range(20):
        node.run(f"INSERT INTO t (k, at) VALUES ({k}, {now})")
    node.run("INSERT INTO t (k, v) VALUES (100, 'has no time')")
    settings = {"mode": column, "incremental.columns": "at", "settle.time.ms": "1500"}
    task = task_of(node, unique, store, **settings)
    assert sorted(row["k"] for row in read(task, store, 20)) == list(range(20))
    began_s = time.time()
    node.run(f"INSERT INTO t (k, at) VALUES (20, {now})", f"INSERT INTO t (k, at) VALUES (3, {now})")
    assert sorted(row["k"] for row in read(task, store, 2)) == [3, 20]
    assert time.time() - began_s > 1.5, "rows are given time to settle"
    task.close()
    node.run(f"INSERT INTO t (k, at) VALUES (21, {now})")
    task = task_of(node, unique, store, **settings)
    assert [row["k"] for row in read(task, store, 1)] == [21]
    assert read(task, store, 1, seconds=1.5) == []
    task.close()


def test_a_drained_table_is_not_behind_although_it_is_looked_at_again_and_again(
    cassandra_node: Node, unique: str
) -> None:
    node, store, context = cassandra_node, OffsetStore(), FakeSourceContext()
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, at timestamp)", "INSERT INTO t (k, at) VALUES (1, toTimestamp(now()))")
    settings = {"mode": "timestamp", "incremental.columns": "at", "settle.time.ms": "0"}
    task = task_of(node, unique, store, context, **settings)
    assert context.is_behind, "nobody has looked"
    deadline = Deadline.after(60)
    while not (found := task.poll(deadline.sooner(0.2))) or not len(found):
        assert not deadline.expired
    for _ in range(10):
        task.poll(deadline.sooner(0.2))
        assert context.is_behind, "its row is not stored"
    task.stored([found.position])
    while context.is_behind:
        assert not deadline.expired
        task.poll(deadline.sooner(0.2))
    assert context.gauges["source_lag_rows"] == 0
    looked_s = context.caught_up_s
    while context.caught_up_s < looked_s + 1.0:
        assert not deadline.expired
        task.poll(deadline.sooner(0.2))
        assert not context.is_behind
    task.close()


def test_bulk_reads_all_rows_again_and_by_kcql_too(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int PRIMARY KEY, v text)", "INSERT INTO t (k, v) VALUES (1, 'x')")
    kcql = {"connect.cassandra.kcql": "INSERT INTO other SELECT v FROM t", "poll.interval.ms": "100"}
    for settings in ({"mode": "bulk"}, kcql):
        store = OffsetStore()
        task = task_of(node, unique, store, **settings)
        assert [row["v"] for row in read(task, store, 3)] == ["x"] * 3
        task.close()
    assert all(json.loads(offset or "{}")["sweep"] >= 1 for offset in store.offsets.values())
