"""Whole tables read by token ranges: every type, any key, shared among tasks, gone on with where it was."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import Node
from cassandra_tables import EVERY_TYPE, fill, plain_row
from e2e_worker import WorkerProcess, wait_for
from server_relay import ServerRelay
from topic_reading import json_records

from connect.api.errors import RetriableError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.ports import free_ports
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector
from connectors.cassandra.source.task import CassandraSourceTask

KEYSPACE = "source_types"


@pytest.fixture(scope="module")
def table(cassandra_node: Node) -> Node:
    """A table of every type with rows in it."""
    cassandra_node.keyspace(KEYSPACE)
    cassandra_node.run(*EVERY_TYPE)
    fill(cassandra_node)
    return cassandra_node


def config(node: Node, **more: str) -> dict[str, str]:
    return {**node.contact, "keyspace": KEYSPACE, "tables": "orders", "table.splits": "12", "fetch.size": "7", **more}


def tasks(node: Node, count: int, store: OffsetStore | None = None, **more: str) -> list[CassandraSourceTask]:
    connector = CassandraSourceConnector(CassandraSourceConfig.parse(config(node, **more)))
    connector.check(Deadline.after(20))
    connector.resume(store.positions() if store is not None else [])
    return [connector.task(share) for share in connector.task_configs(count)]


def batches(task: CassandraSourceTask, store: OffsetStore) -> Iterator[Batch]:
    """All that the task gives, until nothing comes any more."""
    context = FakeSourceContext(store=store)
    task.open(context)
    try:
        while context.gauges.get("splits_left") != 0:
            batch = task.poll(Deadline.after(5))
            if batch is not None:
                yield batch
    finally:
        task.close()


def expected_rows(node: Node) -> list[dict[str, Any]]:
    rows = node.session.execute(f"SELECT * FROM {KEYSPACE}.orders")
    return [plain_row(row, {"Odd_Name": "Odd Name"}) for row in rows]


def by_key(rows: Any) -> dict[str, Any]:
    key = ("tenant", "customer", "placed", "line")
    found = {json.dumps([row[k] for k in key]): row for row in rows}
    assert len(found) == len(rows)
    return found


def test_two_tasks_read_every_type_as_the_table_has_it(table: Node) -> None:
    read = [batch for task in tasks(table, 2) for batch in batches(task, OffsetStore())]
    rows = [row for batch in read for row in batch.values.rows()]
    keys = [row for batch in read for row in batch.keys.rows()]
    expected = expected_rows(table)
    assert len(expected) == 203
    assert by_key(rows) == by_key(expected)
    assert [{k: row[k] for k in key} for row, key in zip(rows, keys, strict=True)] == keys
    assert max(len(batch) for batch in read) == 7


@pytest.mark.parametrize("stop_after", [1, 9, 25])
def test_a_task_goes_on_behind_the_row_that_was_stored_last(table: Node, stop_after: int) -> None:
    store, first = OffsetStore(), []
    (task,) = tasks(table, 1)
    reading = batches(task, store)
    for batch in (next(reading) for _ in range(stop_after)):
        first.append(batch)
        store.store([batch.position])
    reading.close()
    # Into how many ranges the table is cut is settled by what is stored.
    (again,) = tasks(table, 1, store, **{"table.splits": "5"})
    second = list(batches(again, store))
    assert by_key([row for batch in (*first, *second) for row in batch.values.rows()]) == by_key(expected_rows(table))


def test_a_partition_of_many_rows_is_gone_on_with_in_its_middle_and_read_in_small_pages(cassandra_node: Node) -> None:
    node, rows = cassandra_node, 3000
    node.keyspace("source_wide")
    node.run(
        "CREATE TABLE wide (k int, a int, b text, c int, v text, PRIMARY KEY (k, a, b, c)) "
        "WITH CLUSTERING ORDER BY (a ASC, b DESC, c ASC)"
    )
    insert = node.session.prepare("INSERT INTO wide (k, a, b, c, v) VALUES (1, ?, ?, ?, ?)")
    keys = [(i % 10, f"b{i // 10 % 3}", i) for i in range(rows)]
    execute_concurrent_with_args(node.session, insert, [(*key, "x" * 1000) for key in keys])
    wanted = {"keyspace": "source_wide", "tables": "wide", "table.splits": "1", "fetch.size": "5000"}
    store, read = OffsetStore(), []
    runs = 0
    while len(read) < rows:
        (task,) = tasks(node, 1, **wanted, **{"fetch.max.bytes": "200000"})
        reading = batches(task, store)
        for batch in (next(reading) for _ in range(2)):
            read += batch.values.rows()
            store.store([batch.position])
            assert len(batch) <= 210
        reading.close()
        runs += 1
    assert runs > 5
    order = [(row["a"], row["b"], row["c"]) for row in read]
    assert order == sorted(sorted(keys, key=lambda k: k[1], reverse=True), key=lambda k: (k[0], -int(k[1][1])))


def as_json(value: Any) -> Any:
    """A Python value as the JSON converter without schemas writes it."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict() if any(not isinstance(key, str) for key in value):
            return [[as_json(k), as_json(v)] for k, v in value.items()]
        case dict():
            return {k: as_json(v) for k, v in value.items()}
        case list():
            return [as_json(part) for part in value]
    return value


def test_a_worker_brings_the_table_into_its_topic(
    table: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    without = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique, **without)
    worker.start()
    try:
        wanted = config(table, **{"topic.prefix": f"{unique}."})
        answer = worker.create(
            "tables", {**wanted, "connector.class": "connect.cassandra.CassandraSourceConnector", "tasks.max": "2"}
        )
        assert answer.status_code == 201, answer.text
        topic = f"{unique}.{KEYSPACE}.orders"
        expected = by_key(as_json(expected_rows(table)))
        records = wait_for(
            lambda: found if len(found := json_records(kafka, topic)) >= len(expected) else None, 60, "all rows"
        )
        assert by_key([record.value for record in records]) == expected
        assert all(record.key.items() <= record.value.items() for record in records)
    finally:
        worker.stop()


def test_a_table_that_is_not_there_is_named(cassandra_node: Node, table: Node) -> None:
    with pytest.raises(Exception, match=r"has no table gone\. It has: orders"):
        tasks(cassandra_node, 1, tables="orders,gone")


def filled(node: Node, keyspace: str, *tables: str) -> None:
    """Tables of forty rows each."""
    node.keyspace(keyspace)
    for name in tables:
        node.run(f"CREATE TABLE {name} (k int PRIMARY KEY)")
        insert = node.session.prepare(f"INSERT INTO {name} (k) VALUES (?)")
        execute_concurrent_with_args(node.session, insert, [(k,) for k in range(40)])


def test_a_table_that_is_dropped_while_it_is_read_is_named_and_the_others_are_read(
    cassandra_node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    node = cassandra_node
    filled(node, "source_dropped", "gone", "kept")
    (task,) = tasks(node, 1, keyspace="source_dropped", tables="", **{"fetch.size": "2"})
    found: dict[str, int] = {}
    for batch in batches(task, OffsetStore()):
        if not found:
            node.run("DROP TABLE gone")
        found[batch.topic] = found.get(batch.topic, 0) + len(batch)
    assert found["source_dropped.kept"] == 40
    assert found["source_dropped.gone"] < 40
    assert caplog.text.count("Table source_dropped.gone is left aside from here on: ") == 1


def test_a_task_reads_no_more_rows_in_a_second_than_it_may(cassandra_node: Node) -> None:
    filled(cassandra_node, "source_slow", "t")
    settings = {"fetch.size": "4", "max.rows.per.second": "20"}
    (task,) = tasks(cassandra_node, 1, keyspace="source_slow", tables="t", **settings)
    began_s, rows = time.monotonic(), 0
    for batch in batches(task, OffsetStore()):
        rows += len(batch)
        # The first page is free, and each later one waits for the rows before it.
        assert rows <= 20 * (time.monotonic() - began_s) + 4 + 0.5
    assert rows == 40
    assert time.monotonic() - began_s > 1.5


def test_partitions_of_tombstones_alone_are_read_over(cassandra_node: Node) -> None:
    node = cassandra_node
    node.keyspace("source_tombstones")
    node.run("CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))")
    insert = node.session.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, 'v')")
    delete = node.session.prepare("DELETE FROM t WHERE k = ? AND c = ?")
    rows = [(k, c) for k in range(2) for c in range(1500)]
    execute_concurrent_with_args(node.session, insert, [row for row in rows if row[1] % 500 == 0])
    execute_concurrent_with_args(node.session, delete, [row for row in rows if row[1] % 500], concurrency=200)
    (task,) = tasks(node, 1, keyspace="source_tombstones", tables="t", **{"fetch.size": "100"})
    found = [(row["k"], row["c"]) for batch in batches(task, OffsetStore()) for row in batch.values.rows()]
    assert sorted(found) == [(k, c) for k in range(2) for c in (0, 500, 1000)]


@dataclass
class Outage:
    """How a node is lost, how it comes back, and whether it is there."""

    begin: Callable[[], object]
    end: Callable[[], object]
    is_there: bool = True

    def happen(self) -> None:
        self.begin()
        self.is_there = False

    def pass_by(self) -> None:
        if not self.is_there:
            self.end()
            self.is_there = True


@pytest.mark.parametrize(
    "lost", ["a connection", *(pytest.param(lost, marks=pytest.mark.chaos) for lost in ("all connections", "the node"))]
)
def test_a_node_that_is_lost_while_a_table_is_read_costs_no_row_and_repeats_none(
    cassandra_node: Node, unique: str, lost: str
) -> None:
    node = cassandra_node
    filled(node, unique, "t")
    # A node that is killed loses what its commit log, which is compressed, has not written yet.
    node.service.nodetool("flush", unique)
    relay = ServerRelay(*free_ports(1), node.endpoint.port)
    relay.start()
    outage = {
        "a connection": Outage(relay.drop_newest, lambda: None),
        "all connections": Outage(relay.cut, relay.start),
        "the node": Outage(node.service.kill, node.start_again),
    }[lost]
    reached = {"port": str(relay.port), "fetch.size": "2", "read.timeout.ms": "3000"}
    (task,) = tasks(node, 1, keyspace=unique, tables="t", **reached)
    context, rows, failures = FakeSourceContext(store=OffsetStore()), [], 0
    task.open(context)
    deadline = Deadline.after(240)
    while context.gauges.get("splits_left") != 0 and not deadline.expired:
        try:
            batch = task.poll(deadline.sooner(1.0))
        except RetriableError:
            failures += not outage.is_there
            outage.pass_by()
            deadline.wait(0.2)
            continue
        rows += [row["k"] for row in batch.values.rows()] if batch is not None else []
        if len(rows) > 10 and not failures and outage.is_there:
            outage.happen()
    task.close()
    relay.cut()
    assert failures > 0
    assert sorted(rows) == list(range(40))
