"""Connections to a cluster: what a caller hears of one that cannot be reached."""

from __future__ import annotations

import pytest

from connect.api.errors import RetriableError
from connect.tools.services.process.ports import free_ports
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
