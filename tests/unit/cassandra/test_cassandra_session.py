"""Checks connections to a cluster: what a caller hears of one that cannot be reached."""

from __future__ import annotations

import pytest
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage, ServerError

from connect.api.errors import RetriableError
from connect.tools.services.process.ports import free_ports
from connectors.cassandra.cql.driver_errors import translated
from connectors.cassandra.cql.session import Database
from connectors.cassandra.source.config import CassandraSourceConfig


def test_a_cluster_that_was_away_is_asked_again_by_the_next_call() -> None:
    (port,) = free_ports(1)
    config = CassandraSourceConfig.parse({"contact.points": "127.0.0.1", "port": str(port), "keyspace": "shop"})
    database = Database(config)
    try:
        for _ in range(2):
            with pytest.raises(RetriableError, match=r"Failed reading the tables: no node answers \(Connection"):
                database.rows("SELECT keyspace_name FROM system_schema.keyspaces", doing="reading the tables")
    finally:
        database.close()


@pytest.mark.parametrize("kind", [OverloadedErrorMessage, IsBootstrappingErrorMessage, ServerError])
def test_a_node_that_cannot_carry_a_statement_out_for_now_is_asked_again(kind: type[Exception]) -> None:
    """A statement that must not be sent to a second node ends with the first one's answer."""
    with pytest.raises(RetriableError, match="Failed writing a row"), translated("writing a row"):
        raise kind(kind.error_code, "busy", None)
