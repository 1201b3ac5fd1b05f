"""Three nodes with a third of the rows each: every page is asked of a node that has its rows, and of another one where
that node is down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import connected
from e2e_worker import wait_for

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.services.cassandra import CassandraService
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.cassandra.config import CassandraSourceConfig
from connectors.cassandra.session import Database, PageAnswer
from connectors.cassandra.source import CassandraSourceConnector
from connectors.cassandra.statements import Query

pytestmark = pytest.mark.chaos
SETTINGS = {"auto_bootstrap": False, "num_tokens": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[CassandraService]]:
    """Three nodes of one cluster, a range of tokens each."""
    with ExitStack() as stack:
        tokens = [str(-(2**63) + number * (2**64 // 3) + 1000) for number in range(3)]
        first = stack.enter_context(CassandraService(settings={**SETTINGS, "initial_token": tokens[0]}, heap_mib=300))
        others = [
            CassandraService(
                settings={**SETTINGS, "initial_token": tokens[i]}, address=f"127.0.0.{i + 1}", heap_mib=300,
                seed=first.endpoint.seed,
            )
            for i in (1, 2)
        ]  # fmt: skip
        yield [first, *(stack.enter_context(other) for other in others)]


def test_pages_come_from_the_nodes_that_have_their_rows(
    cluster: list[CassandraService], unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, str]] = []
    ask = Database.ask

    def noted(database: Database, query: Query, rows: int, state: bytes | None = None) -> PageAnswer:
        answer = ask(database, query, rows, state)
        answer.when_done(lambda: asked.append((query.token or 0, str(answer._future.coordinator_host.address))))
        return answer

    monkeypatch.setattr(Database, "ask", noted)
    with connected(cluster[0]) as node:
        # Nodes on few cores take their time to hear of a keyspace.
        node.session.cluster.max_schema_agreement_wait = 120
        for name, factor in (("thirds", 1), ("copies", 3)):
            node.run(
                f"CREATE KEYSPACE {unique}_{name} WITH replication = "
                f"{{'class': 'NetworkTopologyStrategy', 'datacenter1': {factor}}}",
                f"CREATE TABLE {unique}_{name}.t (k int PRIMARY KEY)",
            )
            insert = node.session.prepare(f"INSERT INTO {unique}_{name}.t (k) VALUES (?)")
            # A node that has not heard of the table yet refuses its rows.
            wait_for(
                lambda insert=insert: all(
                    done.success
                    for done in execute_concurrent_with_args(
                        node.session, insert, [(k,) for k in range(300)], raise_on_first_error=False
                    )
                ), 60, "the rows on all nodes",
            )  # fmt: skip
        replicas = node.session.cluster.metadata

        def read(name: str, **settings: str) -> tuple[list[int], FakeSourceContext, Any]:
            config = {**node.contact, "keyspace": f"{unique}_{name}", "table.splits": "9", "fetch.size": "10"}
            source = CassandraSourceConnector(CassandraSourceConfig.parse({**config, **settings}))
            (task,) = (source.task(share) for share in source.task_configs(1))
            context = FakeSourceContext(store=OffsetStore())
            task.open(context)
            return [], context, task

        rows, context, task = read("thirds")
        while context.gauges.get("splits_left") != 0:
            batch = task.poll(Deadline.after(5))
            rows += [row["k"] for row in batch.values.rows()] if batch is not None else []
        task.close()
        assert sorted(rows) == list(range(300))
        ring = replicas.token_map
        owners = {at.value: str(ring.token_to_host_owner[at].address) for at in ring.ring}
        firsts = sorted(owners)
        for token, address in asked:
            owner = next((owners[at] for at in firsts if at >= token), owners[firsts[0]])
            assert address == owner
        assert {address for _, address in asked} == {f"127.0.0.{i}" for i in (1, 2, 3)}

        # With copies on all nodes, a node that dies under way costs no row.
        rows, context, task = read("copies", **{"read.timeout.ms": "3000"})
        deadline = Deadline.after(120)
        while context.gauges.get("splits_left") != 0 and not deadline.expired:
            try:
                batch = task.poll(deadline.sooner(2.0))
            except RetriableError:
                deadline.wait(0.5)
                continue
            rows += [row["k"] for row in batch.values.rows()] if batch is not None else []
            if len(rows) > 50 and cluster[1].running:
                cluster[1].kill()
        task.close()
        assert not cluster[1].running
        assert sorted(rows) == list(range(300))
