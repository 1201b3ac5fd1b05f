"""Reads a partition of a million rows: each row comes once and in order, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent
from cassandra.query import BatchStatement, BatchType
from cassandra_node import Node

pytestmark = pytest.mark.chaos
ROWS, PER_BATCH = 1_000_000, 200
MOST_MB = 300
_READ = """
import json, sys
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

source = CassandraSourceConnector(CassandraSourceConfig.parse(json.loads(sys.argv[1])))
(task,) = (source.task(share) for share in source.task_configs(1))
context, rows, last, in_order = FakeSourceContext(), 0, -1, True
task.open(context)
while context.gauges.get("splits_left") != 0:
    batch = task.poll(Deadline.after(5))
    if batch is not None and len(batch):
        found = batch.values.arrow().field("c").to_pylist()
        in_order = in_order and found == list(range(last + 1, last + 1 + len(found)))
        rows, last = rows + len(found), found[-1]
task.close()
with open("/proc/self/status") as status:
    peak_kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({"rows": rows, "in_order": in_order, "peak_mb": peak_kib / 1024}))
"""


def test_a_partition_of_a_million_rows_is_read_in_order_in_bounded_memory(cassandra_node: Node, unique: str) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))")
    insert = node.session.prepare("INSERT INTO t (k, c, v) VALUES (1, ?, ?)")

    def batch(start: int) -> BatchStatement:
        made = BatchStatement(BatchType.UNLOGGED, consistency_level=ConsistencyLevel.ONE)
        for c in range(start, start + PER_BATCH):
            made.add(insert, (c, f"the text of row {c}"))
        return made

    statements = ((batch(start), ()) for start in range(0, ROWS, PER_BATCH))
    for done in execute_concurrent(node.session, statements, concurrency=8, results_generator=True):
        assert done.success, done.result_or_exc
    settings = json.dumps({**node.contact, "keyspace": unique, "table.splits": "8"})
    ran = subprocess.run(
        [sys.executable, "-c", _READ, settings], capture_output=True, text=True, check=True, timeout=240
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    assert (found["rows"], found["in_order"]) == (ROWS, True)
    assert found["peak_mb"] < MOST_MB, found
