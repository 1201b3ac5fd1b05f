"""Runs three replicas and an agent beside each: the copies of a change have one id, a node that was down included."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement
from cassandra_node import Node, connected, three_nodes
from e2e_worker import wait_for

from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connect.tools.services.cassandra import CassandraService
from connectors.cassandra.log.agent import CassandraCdcTask
from connectors.cassandra.log.agent_config import CassandraAgentConfig

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[CassandraService]]:
    """Three nodes of one cluster."""
    with three_nodes(hinted_handoff_enabled=True, max_hint_window="1h") as nodes:
        yield nodes


class NodeAgent:
    """The agent's task of one node, and the ids of the events that it sent."""

    def __init__(self, service: CassandraService, keyspace: str) -> None:
        endpoint = service.endpoint
        settings = {
            "contact.points": endpoint.host, "port": str(endpoint.port), "tables": f"{keyspace}.*",
            "cdc.raw.folder": str(endpoint.cdc_raw_folder),
        }  # fmt: skip
        self._task = CassandraCdcTask(CassandraAgentConfig.parse(settings))
        self._task.open(FakeSourceContext(store=OffsetStore()))
        self.ids: Counter[str] = Counter()

    def read(self) -> Counter[str]:
        while (batch := self._task.poll(Deadline.after(0.5))) is not None:
            self.ids.update(row["event_id"] for row in batch.values.rows())
        return self.ids

    def close(self) -> None:
        self._task.close()


def test_the_copies_of_a_change_have_one_id_on_all_replicas(cluster: list[CassandraService], unique: str) -> None:
    random_ = random.Random(3)

    def statement() -> str:
        k, c, n = random_.randrange(9), random_.randrange(9), random_.randrange(100)
        return random_.choice(
            [
                f"INSERT INTO t (k, c, v, tags) VALUES ({k}, {c}, '{n}', {{'a', '{n}'}})",
                f"UPDATE t SET tags = tags + {{'{n}'}}, s = '{n}' WHERE k = {k} AND c = {c}".replace(", s", ", v"),
                f"UPDATE t SET s = '{n}' WHERE k = {k}",
                f"DELETE tags FROM t WHERE k = {k} AND c = {c}",
                f"DELETE FROM t WHERE k = {k} AND c > {c}",
                f"BEGIN BATCH INSERT INTO t (k, c) VALUES ({k}, {c}); DELETE FROM t WHERE k = {n + 100}; APPLY BATCH",
            ]
        )

    def write(node: Node, count: int) -> None:
        for _ in range(count):
            node.session.execute(SimpleStatement(statement(), consistency_level=ConsistencyLevel.QUORUM), timeout=60)

    with connected(cluster[0]) as node:
        node.run(
            f"CREATE KEYSPACE {unique} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 3}}",
            f"USE {unique}",
            "CREATE TABLE t (k int, c int, s text static, v text, tags set<text>, PRIMARY KEY (k, c)) WITH cdc = true",
        )
        write(node, 150)
        cluster[2].stop()
        write(node, 100)
        cluster[2].start()
        write(node, 50)
        agents = [NodeAgent(service, unique) for service in cluster]
        try:

            def complete() -> bool:
                first, second, third = (agent.read().keys() for agent in agents)
                return len(first) >= 300 and first == second == third

            # What the third node missed comes as hints, packed anew.
            wait_for(complete, 240, "the same changes on all three nodes", pause_s=1.0)
        finally:
            for agent in agents:
                agent.close()
    assert all(set(agent.ids.values()) == {1} for agent in agents[:2]), "each change once on nodes that were never down"
