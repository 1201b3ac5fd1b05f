"""Three replicas, their agents and the connector that makes one event of the copies: nodes fail, and the topic is the
table, cell by cell.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement
from cassandra_agent import AgentProcess
from cassandra_node import Node, connected, three_nodes
from cassandra_state import TableState
from e2e_worker import WorkerProcess, wait_for
from topic_reading import JsonRecord, json_records

from connect.tools.services import KafkaEndpoint
from connect.tools.services.cassandra import CassandraService

pytestmark = pytest.mark.chaos
KINDS = {"s": "cell", "v": "cell", "w": "cell", "tags": "set"}
WITHOUT = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[CassandraService]]:
    """Three nodes of one cluster."""
    # Hints end within the test, so that repair has something to do.
    with three_nodes(hinted_handoff_enabled=True, max_hint_window="20s") as nodes:
        yield nodes


def statement(random_: random.Random) -> str:
    k, c, n = random_.randrange(9), random_.randrange(9), random_.randrange(100)
    row = f"k = {k} AND c = {c}"
    return random_.choice(
        [
            f"INSERT INTO t (k, c, v, tags) VALUES ({k}, {c}, '{n}', {{'a', '{n % 7}'}})",
            f"INSERT INTO t (k, c, v, w) VALUES ({k}, {c}, '{n}', 'w')",
            f"UPDATE t SET tags = tags + {{'{n % 7}'}}, v = '{n}' WHERE {row}",
            f"UPDATE t SET tags = tags - {{'{n % 7}'}}, w = '{n}' WHERE {row}",
            f"UPDATE t SET s = '{n}' WHERE k = {k}",
            f"DELETE v FROM t WHERE {row}",
            f"DELETE FROM t WHERE {row}",
            f"DELETE FROM t WHERE k = {k} AND c > {c}" if n < 30 else f"DELETE w FROM t WHERE {row}",
            f"DELETE FROM t WHERE k = {k}" if n < 10 else f"UPDATE t SET w = 'x' WHERE {row}",
        ]
    )


def state_of(records: list[JsonRecord]) -> TableState:
    state = TableState(["k"], ["c"], KINDS, {"s"})
    state.apply(record.value for record in records)
    return state


def comparable(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: {n: sorted(v) if isinstance(v, list) and v else v or None if isinstance(v, list) else v
                  for n, v in row.items()} for key, row in rows.items()}  # fmt: skip


def writes(records: list[JsonRecord]) -> Counter[tuple[object, ...]]:
    """How often each write of a cell or an element is in a topic."""
    found: Counter[tuple[object, ...]] = Counter()
    for record in records:
        event = record.value
        place = (event["key"]["k"], None if event["op"] == "static" else event["key"]["c"])
        for name, change in (event["columns"] or {}).items():
            if change is None:
                continue
            if "cleared_us" not in change:
                found[*place, name, change["writetime_us"], change["deleted"], change["value"]] += 1
                continue
            for part in ("set", "removed"):
                for element in change[part]:
                    found[*place, name, element["element"], element["writetime_us"], part] += 1
    return found


def test_the_topic_is_the_table_though_a_node_was_down_and_repaired(
    cluster: list[CassandraService], kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    random_ = random.Random(3)
    raw = f"{unique}.{unique}.t"
    agents, outputs = [], {"ids": f"ids.{unique}.t", "cells": f"cells.{unique}.t"}
    worker = WorkerProcess(
        tmp_path / "worker", kafka.bootstrap_servers, f"{unique}-w", **WITHOUT,
        **{"exactly.once.source.support": "enabled"},
    )  # fmt: skip
    with ExitStack() as stack:
        node = stack.enter_context(connected(cluster[0]))
        node.run(
            f"CREATE KEYSPACE {unique} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 3}}",
            f"USE {unique}",
            "CREATE TABLE t (k int, c int, s text static, v text, w text, tags set<text>, PRIMARY KEY (k, c)) "
            "WITH cdc = true",
        )

        def write(count: int) -> None:
            for _ in range(count):
                quorum = SimpleStatement(statement(random_), consistency_level=ConsistencyLevel.QUORUM)
                node.session.execute(quorum, timeout=60)

        def start_agent(number: int) -> None:
            folder = tmp_path / f"agent{number}"
            folder.mkdir(exist_ok=True)
            there = stack.enter_context(connected(cluster[number]))
            agent = AgentProcess(
                folder, kafka, Node(there.service, there.session), f"{unique}-{number}",
                **{"topic.prefix": f"{unique}.", "tables": f"{unique}.*"},
            )  # fmt: skip
            agent.start()
            agents.append(agent)
            stack.callback(agent.stop)

        def read(kind: str) -> list[JsonRecord]:
            return json_records(kafka, outputs[kind])

        write(200)
        for number in range(3):
            start_agent(number)
        stack.callback(worker.stop)
        worker.start()
        for kind in outputs:
            config = {
                "connector.class": "connect.cassandra.CassandraDedupConnector", "topics": raw,
                "input.prefix": f"{unique}.", "topic.prefix": f"{kind}.", "exactly.once.support": "required",
                "merge.cells": str(kind == "cells").lower(),
            }  # fmt: skip
            assert worker.create(f"{unique}-{kind}", config).status_code == 201
        cluster[2].stop()
        write(150)
        wait_for(lambda: len(read("cells")) > 100, 90, "100 merged rows", by=worker)
        worker.kill()
        worker.start()
        cluster[2].start()
        write(50)
        # A node that is down for longer than hints are kept: repair brings what it missed, packed anew.
        cluster[1].kill()
        write(50)
        wait_for(lambda: cluster[0].nodetool("status").count("DN") == 1, 60, "a node is down")
        cluster[0].nodetool("truncatehints")
        cluster[2].nodetool("truncatehints")
        cluster[1].start()
        wait_for(lambda: cluster[0].nodetool("status").count("UN") == 3, 90, "all nodes are up")
        cluster[0].nodetool("repair", "-full", unique)
        write(20)
        table = comparable(
            {TableState(["k"], ["c"], KINDS, {"s"}).key_of(r): r for r in node.json_rows("SELECT * FROM t")}
        )
        times = {
            column: {
                TableState(["k"], ["c"], KINDS, {"s"}).key_of(row): row[f"writetime({column})"]
                for row in node.json_rows(f"SELECT k, c, writetime({column}) FROM t")
                if row[f"writetime({column})"] is not None
            }
            for column in ("v", "w")
        }
        assert len(table) > 20
        for kind in outputs:
            wait_for(lambda k=kind: comparable(state_of(read(k)).rows()) == table, 120, kind, by=worker)
            assert {column: state_of(read(kind)).writetimes(column) for column in times} == times
        twice = {kind: sum(n - 1 for n in writes(read(kind)).values()) for kind in outputs}
        copies = sum(n - 1 for n in writes(json_records(kafka, raw)).values())
        sys.stdout.write(f"writes that came more than once: {copies} from the agents, {twice} behind the connectors\n")
        assert copies > 500
        assert twice["cells"] == 0
        assert twice["ids"] < copies / 5
