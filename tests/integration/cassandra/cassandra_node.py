"""Gives tests a real node: they run statements, and read its tables with the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from cassandra import OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import dict_factory
from e2e_worker import wait_for

from connect.tools.services.cassandra import CassandraEndpoint, CassandraService

PATIENT = {f"{kind}_timeout": "60s" for kind in (
    "request", "read_request", "range_request", "write_request", "truncate_request", "cas_contention",
)}  # fmt: skip
"""With these settings a node that is slow, as others use the same cores, does not give up a statement."""


@dataclass(frozen=True)
class Node:
    """Holds a running node and a connection to it."""

    service: CassandraService
    session: Session

    @property
    def endpoint(self) -> CassandraEndpoint:
        return self.service.endpoint

    @property
    def contact(self) -> dict[str, str]:
        """Return the settings by which connectors reach the node, however slow the machine is."""
        return {
            "contact.points": self.endpoint.host, "port": str(self.endpoint.port), "consistency.level": "ONE",
            "connect.timeout.ms": "60000",
        }  # fmt: skip

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.session.execute(statement)

    def keyspace(self, name: str) -> None:
        """Make a keyspace and use it."""
        self.run(
            f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
            f"USE {name}",
        )

    def start_again(self) -> None:
        """Start the killed node again, and wait until `session` reaches it, as later tests use the session too."""
        self.service.start()
        wait_for(self._is_reached, 120, "an answer of the node that was started again")

    def _is_reached(self) -> bool:
        try:
            self.session.execute("SELECT key FROM system.local", timeout=5)
        except (NoHostAvailable, OperationTimedOut):
            return False
        return True

    def json_rows(self, query: str) -> list[Mapping[str, Any]]:
        """Return rows as the server itself writes them as JSON."""
        import json

        return [json.loads(row["[json]"]) for row in self.session.execute(query.replace("SELECT", "SELECT JSON", 1))]


@contextmanager
def connected(service: CassandraService) -> Iterator[Node]:
    """Yield a connection to a node that has started."""
    endpoint = service.endpoint
    profile = ExecutionProfile(row_factory=dict_factory, request_timeout=60)
    cluster = Cluster(
        [endpoint.host], port=endpoint.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        # A node that shares its cores with others may be slow; its connection must not be given up for that.
        connect_timeout=60, control_connection_timeout=60, idle_heartbeat_interval=0, max_schema_agreement_wait=60,
        # A node that a test killed is tried again at a constant interval, not less and less often.
        reconnection_policy=ConstantReconnectionPolicy(0.5, max_attempts=None),
    )  # fmt: skip
    try:
        yield Node(service, cluster.connect())
    finally:
        cluster.shutdown()


class Changes:
    """Runs statements one after the other on its own thread, until it is ended."""

    def __init__(self, node: Node, statements: Iterable[str]) -> None:
        self._node = node
        self._statements = statements
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._done = 0

    def start(self) -> None:
        self._thread.start()

    def go_on(self, count: int) -> None:
        """Wait until `count` more statements have run."""
        enough = self._done + count
        wait_for(lambda: self._done >= enough, 60, f"{count} more statements")

    def end(self) -> None:
        """End the statements. It may be called twice."""
        self._ending.set()
        self._thread.join(60)

    def _run(self) -> None:
        for statement in self._statements:
            if self._ending.wait(0.004):
                return
            self._node.run(statement)
            self._done += 1


@contextmanager
def three_nodes(**settings: object) -> Iterator[list[CassandraService]]:
    """Yield the nodes of one cluster, on 127.0.0.1, 2 and 3, once each of them knows the tokens of the others.

    A row that is written before may go to a node that does not own it.
    """
    joining = {"auto_bootstrap": False, **settings}
    with ExitStack() as stack:
        first = stack.enter_context(CassandraService(settings=joining, heap_mib=300))
        seed = first.endpoint.seed
        others = [CassandraService(settings=joining, address=f"127.0.0.{i}", seed=seed, heap_mib=300) for i in (2, 3)]
        nodes = [first, *(stack.enter_context(other) for other in others)]
        for node in nodes:
            wait_for(lambda node=node: node.nodetool("status").count("\nUN ") == 3, 120, "all three in the ring")
        yield nodes
