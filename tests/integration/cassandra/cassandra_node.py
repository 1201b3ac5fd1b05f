"""A real node as the tests use it: statements, and what is in its tables by the driver's own reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cassandra import OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import dict_factory
from e2e_worker import wait_for

from connect.services.cassandra import CassandraEndpoint, CassandraService


@dataclass(frozen=True)
class Node:
    """A running node and a connection to it."""

    service: CassandraService
    session: Session

    @property
    def endpoint(self) -> CassandraEndpoint:
        return self.service.endpoint

    @property
    def contact(self) -> dict[str, str]:
        """The settings by which connectors reach it."""
        return {"contact.points": self.endpoint.host, "port": str(self.endpoint.port), "consistency.level": "ONE"}

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
        """Start it where it was killed, and wait until `session` reaches it: the tests behind this one use it too."""
        self.service.start()
        wait_for(self._is_reached, 60, "an answer of the node that was started again")

    def _is_reached(self) -> bool:
        try:
            self.session.execute("SELECT key FROM system.local", timeout=5)
        except (NoHostAvailable, OperationTimedOut):
            return False
        return True

    def json_rows(self, query: str) -> list[Mapping[str, Any]]:
        """Rows as the server itself writes them as JSON."""
        import json

        return [json.loads(row["[json]"]) for row in self.session.execute(query.replace("SELECT", "SELECT JSON", 1))]


@contextmanager
def connected(service: CassandraService) -> Iterator[Node]:
    """A connection to a node that has started."""
    endpoint = service.endpoint
    profile = ExecutionProfile(row_factory=dict_factory, request_timeout=60)
    cluster = Cluster(
        [endpoint.host], port=endpoint.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=30,
        # A node that a test killed is looked for without ever longer pauses.
        reconnection_policy=ConstantReconnectionPolicy(0.5, max_attempts=None),
    )  # fmt: skip
    try:
        yield Node(service, cluster.connect())
    finally:
        cluster.shutdown()
