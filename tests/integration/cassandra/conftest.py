"""Provides the Cassandra nodes of the tests, started once for the run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cassandra_node import PATIENT, Node, connected
from warm_lanes import warm_lanes  # noqa: F401 - a fixture

from connect.tools.services.cassandra import OLD_VERSION, CassandraService

VIEWS = {"materialized_views_enabled": True}


@pytest.fixture(scope="session")
def cassandra_node() -> Iterator[Node]:
    """Yield a node that writes version 8 of the commit log, compressed."""
    written = {"storage_compatibility_mode": "NONE", "commitlog_compression": [{"class_name": "LZ4Compressor"}]}
    with CassandraService(settings={**PATIENT, **VIEWS, **written}) as service, connected(service) as node:
        yield node


@pytest.fixture(scope="session")
def old_node() -> Iterator[Node]:
    """Yield a node of Cassandra 4.1, which writes version 7 of the commit log, not compressed."""
    with CassandraService(version=OLD_VERSION, settings={**PATIENT, **VIEWS}) as service, connected(service) as node:
        yield node
