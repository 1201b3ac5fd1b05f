"""Sends statements to nodes that own the rows which are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cassandra.policies import LoadBalancingPolicy, WrapperPolicy
from cassandra.pool import Host
from cassandra.query import BoundStatement, PreparedStatement

from connectors.cassandra.cql.owners import NO_NODES, Nodes


class OwnedStatement(BoundStatement):  # type: ignore[misc]  # the driver has no types
    """Holds a bound read statement and the nodes that own all of its rows."""

    def __init__(self, prepared: PreparedStatement, values: Sequence[bytes], owners: Nodes) -> None:
        """Bind a prepared statement. `values` are the parameters as Cassandra stores them; `owners` are asked first."""
        super().__init__(prepared)
        self.values = list(values)
        self.owners = owners


class OwnersFirst(WrapperPolicy):  # type: ignore[misc]  # the driver has no types
    """Asks the nodes in the order of another policy, except that the owners of the rows come first."""

    def __init__(self, policy: LoadBalancingPolicy) -> None:
        super().__init__(policy)
        self._policy = policy

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Yield the nodes to ask, one after the other; those that own the rows come first."""
        plan = list(self._policy.make_query_plan(working_keyspace, query))
        owners = query.owners if isinstance(query, OwnedStatement) else NO_NODES
        return iter(sorted(plan, key=lambda host: host not in owners))
