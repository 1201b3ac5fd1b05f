"""A cluster whose tokens are no numbers of 64 bits is refused, and its tables are not read as empty."""

from __future__ import annotations

import pytest
from cassandra_node import PATIENT, connected

from connect.api.errors import ConfigError
from connect.api.optional.bulk import SplitSize
from connect.lib.deadline import Deadline
from connect.tools.services.cassandra import CassandraService
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector


def test_tables_of_a_random_partitioner_are_refused_and_not_read_as_empty() -> None:
    settings = {**PATIENT, "partitioner": "org.apache.cassandra.dht.RandomPartitioner"}
    with CassandraService(settings=settings) as service, connected(service) as node:
        node.keyspace("k")
        node.run("CREATE TABLE t (k int PRIMARY KEY)", *(f"INSERT INTO t (k) VALUES ({i})" for i in range(20)))
        config = CassandraSourceConfig.parse({**node.contact, "keyspace": "k", "table.splits": "4"})
        connector = CassandraSourceConnector(config)
        with pytest.raises(ConfigError, match="RandomPartitioner"):
            connector.check(Deadline.after(60))
        with pytest.raises(ConfigError, match="RandomPartitioner"):
            connector.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60))
