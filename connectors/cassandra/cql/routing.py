"""Sends statements to nodes that have the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cassandra.policies import LoadBalancingPolicy, WrapperPolicy
from cassandra.pool import Host
from cassandra.query import BoundStatement, PreparedStatement

from connectors.cassandra.cql.owners import NO_NODES, Nodes


class OwnedStatement(BoundStatement):  # type: ignore[misc]  # the driver has no types
    """A read whose rows are all on the nodes that own them."""

    def __init__(self, prepared: PreparedStatement, values: Sequence[bytes], owners: Nodes) -> None:
        """`values` are the parameters as Cassandra stores them."""
        super().__init__(prepared)
        self.values = list(values)
        self.owners = owners


class OwnersFirst(WrapperPolicy):  # type: ignore[misc]  # the driver has no types
    """Asks the nodes of another policy in its order, but the owners of the rows first."""

    def __init__(self, policy: LoadBalancingPolicy) -> None:
        super().__init__(policy)
        self._policy = policy

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Yield the nodes to ask, one after the other; those that own the rows come first."""
        plan = list(self._policy.make_query_plan(working_keyspace, query))
        owners = query.owners if isinstance(query, OwnedStatement) else NO_NODES
        return iter(sorted(plan, key=lambda host: host not in owners))
